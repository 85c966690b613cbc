import { expect } from "chai";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { ServerValidation } from "#test/support/chart/serverValidation.ts";
import { tryEachClass, trySettings, type Setting, type SweepResult } from "#test/support/chart/valueSweep.ts";
import { valueClasses } from "#test/support/chart/valueClasses.ts";

/** `SEED` is that of a failed run, which is then made again; without it each run draws other values. */
const given = process.env["SEED"];
const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given);
/** About ten minutes: what is refused together is tried in halves. */
const draws = 15;

describe("the chart's values, in many random combinations,", function () {
  this.timeout(1_200_000);
  let validation: ServerValidation;

  before(async () => {
    validation = await ServerValidation.start(await sharedKubeApiServer());
  });

  // Over full in the shorter tests.
  it(`of every class in addition to bundled are valid for programs and API server, or are rejected with a message (seed ${seed})`, async () => {
    const { faults, refused } = await tryEachClass(validation, "bundled", valueClasses(seed));
    expect(faults.join("\n")).to.equal("");
    expect(
      refused
        .map(({ setting, error }) => `${setting.path.join(".")}=${JSON.stringify(setting.value)} ${error}`)
        .join("\n"),
    ).to.equal("");
  });

  it(`are valid for programs and API server, or are rejected with a message (seed ${seed})`, async () => {
    const result: SweepResult = { rendered: 0, refused: [], faults: [] };
    for (let draw = 0; draw < draws; draw++) {
      for (const base of ["bundled", "external", "full"])
        await trySettings(validation, base, drawn(seed + draw), result);
    }
    expect(result.faults.join("\n")).to.equal("");
    expect(result.rendered).to.be.greaterThan(draws);
  });
});

/** One class of a third of all values each, the same for the same seed. */
function drawn(from: number): Setting[] {
  let state = from;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  return valueClasses(from).flatMap(({ path, valid }): Setting[] =>
    valid.length === 0 || next(3) > 0 ? [] : [{ path, value: valid[next(valid.length)] }],
  );
}
