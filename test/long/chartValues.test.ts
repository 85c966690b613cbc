import { expect } from "chai";
import { sharedKubeApiServer } from "../support/cluster/kubeApiServer.ts";
import { ServerValidation } from "../support/chart/serverValidation.ts";
import { trySettings, type Setting, type SweepResult } from "../support/chart/valueSweep.ts";
import { valueClasses } from "../support/chart/valueClasses.ts";

/** `SEED` is that of a failed run, which is then made again; without it each run draws other values. */
const given = process.env["SEED"];
const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given);
/** About ten minutes: what is refused together is tried in halves. */
const draws = 15;

describe("the chart's values, in very many combinations", function () {
  this.timeout(1_200_000);

  it(`reach the programs and the API server as they take them, or are refused in words (seed ${seed})`, async () => {
    const validation = await ServerValidation.start(await sharedKubeApiServer());
    const result: SweepResult = { rendered: 0, refused: [], faults: [] };
    for (let draw = 0; draw < draws; draw++) {
      for (const base of ["bundled", "external", "full"]) await trySettings(validation, base, drawn(seed + draw), result);
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
  return valueClasses(from).flatMap(({ path, valid }): Setting[] => (valid.length === 0 || next(3) > 0 ? [] : [{ path, value: valid[next(valid.length)] }]));
}
