import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import { alertCases, type AlertCase } from "./alertCases.ts";
import { render, values } from "#test/support/chart/helmTemplate.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const rulesFile = join(repositoryRoot, "charts/joypod/files/alerts.yaml");

interface Rule {
  alert: string;
  for?: string;
  labels: { severity: string };
  annotations: Record<string, string>;
}

const { groups } = parse(readFileSync(rulesFile, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface PrometheusRule {
  kind: string;
  spec: object;
}

describe("the chart's alerts", function () {
  this.timeout(60_000);
  let folder: string;
  /** The rules of the installation in namespace `joypod`, as the chart renders them. */
  let renderedFile: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-alerts-"));
    renderedFile = join(folder, "rendered.yaml");
    const rule = (
      await render<PrometheusRule>(...values("bundled"), "--set", "metrics.rules.enabled=true")
    ).find(({ kind }) => kind === "PrometheusRule");
    if (rule === undefined) throw new Error("The chart renders no PrometheusRule.");
    writeFileSync(renderedFile, stringify(rule.spec));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs promtool, which is in the Debian package of Prometheus; returns what it says, also of failures. */
  async function promtool(...args: string[]): Promise<string> {
    return run("promtool", args).then(
      ({ stdout }) => stdout,
      (error: unknown) => {
        const {
          code,
          stdout = "",
          stderr = "",
        } = error as { code?: string; stdout?: string; stderr?: string };
        if (code === "ENOENT") throw new Error("promtool is missing: install the Debian package prometheus.");
        return `${stdout}${stderr}`;
      },
    );
  }

  async function testRules(tests: object[]): Promise<string> {
    const file = join(folder, "tests.yaml");
    writeFileSync(file, stringify({ rule_files: [renderedFile], evaluation_interval: "1m", tests }));
    return promtool("test", "rules", file);
  }

  const aTest = (
    alert: string,
    series: Readonly<Record<string, string>>,
    isFiring: boolean,
    atMinutes = 45,
    states: object[] = [],
  ): object => ({
    name: `${alert} ${isFiring ? "fires" : "is quiet"}`,
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values: values.trim() })),
    promql_expr_test: [
      {
        expr: `count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: `${atMinutes}m`,
        exp_samples: isFiring ? [{ labels: `{alertname="${alert}"}`, value: 1 }] : [],
      },
      ...states,
    ],
  });

  /**
   * What is expected around the end of a rule's `for`: in the minute before it the alert is pending and does
   * not fire, then it fires.
   */
  function statesOf({ alert, forMinutes, beginsAtMinutes = 0 }: AlertCase): object[] {
    if (forMinutes === undefined) return [];
    const states = [
      { atMinutes: beginsAtMinutes + forMinutes - 1, state: "pending" },
      { atMinutes: beginsAtMinutes + forMinutes, state: "firing" },
    ];
    return states.map(({ atMinutes, state }) => ({
      expr: `count by (alertstate) (ALERTS{alertname="${alert}"})`,
      eval_time: `${atMinutes}m`,
      exp_samples: [{ labels: `{alertstate="${state}"}`, value: 1 }],
    }));
  }

  it("fire when they should, and not before", async () => {
    const said = await testRules(
      alertCases.flatMap((one) => [
        aTest(one.alert, one.fires, true, one.atMinutes, statesOf(one)),
        aTest(one.alert, one.isQuiet, false, one.atMinutes),
      ]),
    );
    expect(said, said)
      .to.match(/SUCCESS/)
      .and.not.match(/FAILED/);
  });

  it("have exactly one test each", () => {
    expect(alertCases.map(({ alert }) => alert)).to.have.members(rules.map(({ alert }) => alert));
    expect(new Set(rules.map(({ alert }) => alert)).size).to.equal(rules.length);
  });

  it("have a delay only if a test defines it", () => {
    const waiting = rules.flatMap(({ alert, for: duration }) => (duration === undefined ? [] : [alert]));
    expect(waiting).to.have.members(
      alertCases.flatMap(({ alert, forMinutes }) => (forMinutes === undefined ? [] : [alert])),
    );
  });

  it("are valid Prometheus rules with a severity and a description", async () => {
    for (const file of [rulesFile, renderedFile])
      expect(await promtool("check", "rules", file)).to.contain(`SUCCESS: ${rules.length} rules found`);
    for (const { alert, labels, annotations } of rules) {
      expect(labels.severity, alert).to.be.oneOf(["critical", "warning"]);
      expect(annotations, alert).to.have.all.keys("summary", "description", "runbook_url");
    }
  });

  it("fail these tests if one never fires", async () => {
    expect(
      await testRules([aTest("JoypodNodeSilent", { 'joypod_game_node_silent{node="n1"}': "0x60" }, true)]),
    ).to.contain("FAILED");
  });
});
