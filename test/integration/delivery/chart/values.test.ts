import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { chartFolder, isInWords, renderChart } from "#test/support/chart/helmTemplate.ts";
import { ServerValidation } from "#test/support/chart/serverValidation.ts";
import {
  tryEachClass,
  trySettings,
  valuesOf,
  type Setting,
  type SweepResult,
} from "#test/support/chart/valueSweep.ts";
import { valueClasses } from "#test/support/chart/valueClasses.ts";

/**
 * The values' forms are drawn by it; a fault that another one finds is named by the whole of its settings.
 */
const seed = 20_261_123;

describe("the chart's values", function () {
  this.timeout(180_000);
  let validation: ServerValidation;
  const classes = valueClasses(seed);

  before(async () => {
    validation = await ServerValidation.start(await sharedKubeApiServer());
  });

  it("of each file in ci are accepted by the API server and by the programs that they configure", async () => {
    const bases = (await readdir(join(chartFolder, "ci"))).map((file) => file.replace("-values.yaml", ""));
    expect(bases).to.include.members(["bundled", "external", "full"]);
    const result: SweepResult = { rendered: 0, refused: [], faults: [] };
    for (const base of bases) await trySettings(validation, base, [], result);
    expect(result.faults).to.deep.equal([]);
    expect(result.rendered).to.equal(bases.length);
  });

  it("are rejected with a message about the value if they do not match the schema", async () => {
    const rounds = Math.max(...classes.map(({ invalid }) => invalid.length));
    for (let round = 0; round < rounds; round++) {
      const settings = classes.flatMap(({ path, invalid }): Setting[] =>
        round < invalid.length ? [{ path, value: invalid[round] }] : [],
      );
      const rendering = await renderChart("full", valuesOf(settings));
      if (!("error" in rendering)) throw new Error(`Helm rendered wrong values of round ${round}.`);
      expect(isInWords(rendering.error), rendering.error).to.equal(true);
      const passed = settings.filter(
        ({ path }) => !new RegExp(`at '/${path.join("/")}['/]`).test(rendering.error),
      );
      expect(
        passed.map(({ path, value }) => `${path.join(".")}=${JSON.stringify(value)}`),
        "let through",
      ).to.deep.equal([]);
    }
  });

  it("are rejected with a message if sessions would run in the namespace of Joypod's programs", async () => {
    for (const namespace of ["joypod", "own-agents"]) {
      const values = valuesOf([
        { path: ["sessions", "namespace"], value: namespace },
        { path: ["nodeAgent", "namespace"], value: "own-agents" },
      ]);
      const rendering = await renderChart("bundled", values);
      expect("error" in rendering && rendering.error, namespace).to.contain(
        "sessions.namespace is that of Joypod's programs",
      );
    }
  });

  it("of every class in addition to full are valid for programs and API server, or are rejected with a message", async () => {
    const { faults, refused } = await tryEachClass(validation, "full", classes);
    expect(faults.join("\n")).to.equal("");
    expect(
      refused
        .map(({ setting, error }) => `${setting.path.join(".")}=${JSON.stringify(setting.value)} ${error}`)
        .join("\n"),
    ).to.equal("");
  });
});
