import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dashboardNames, panelsOf } from "#test/support/metrics/dashboards.ts";
import { documentedMetrics, type MetricsSection } from "#test/support/metrics/metricsDocument.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { parse } from "yaml";

const sections: readonly MetricsSection[] = [
  "API",
  "Operator",
  "Node agent",
  "API, operator and node agent",
  "Relay",
];
const suffixes = /_(?:bucket|sum|count)$/;

/** Names of metrics in an expression, without what a histogram adds to them. */
function metricsIn(expression: string, documented: ReadonlySet<string>): string[] {
  return [...expression.matchAll(/\bjoypod_\w+/g)].map(([name]) =>
    documented.has(name) ? name : name.replace(suffixes, ""),
  );
}

describe("What the chart gives Prometheus and Grafana", () => {
  const documented = new Set(sections.flatMap((section) => [...documentedMetrics(section).keys()]));
  const alerts = (
    parse(readFileSync(join(repositoryRoot, "charts/joypod/files/alerts.yaml"), "utf8")) as {
      groups: { rules: { alert: string; expr: string; annotations: { runbook_url: string } }[] }[];
    }
  ).groups.flatMap(({ rules }) => rules);

  for (const name of dashboardNames) {
    it(`asks only for metrics that docs/metrics.md has, in the dashboard ${name}`, () => {
      const panels = panelsOf(name);
      expect(panels).to.not.be.empty;
      for (const { title, expressions } of panels) {
        expect(expressions, title).to.not.be.empty;
        for (const expression of expressions) {
          expect(metricsIn(expression, documented), `${title}: ${expression}`).to.not.be.empty;
          for (const metric of metricsIn(expression, documented))
            expect(documented.has(metric), `${title}: ${metric}`).to.equal(true);
        }
      }
    });
  }

  it("asks only for metrics that docs/metrics.md has, in the alerts", () => {
    for (const { alert, expr } of alerts) {
      for (const metric of metricsIn(expr, documented))
        expect(documented.has(metric), `${alert}: ${metric}`).to.equal(true);
    }
  });

  it("says in each alert where docs/operations.md tells what to do", () => {
    const text = readFileSync(join(repositoryRoot, "docs/operations.md"), "utf8");
    const anchors = new Set(
      [...text.matchAll(/^#+ (\w+)$/gm)].map(([, heading = ""]) => heading.toLowerCase()),
    );
    for (const {
      alert,
      annotations: { runbook_url: link },
    } of alerts) {
      expect(link).to.equal(`docs/operations.md#${alert.toLowerCase()}`);
      expect(anchors.has(alert.toLowerCase()), `docs/operations.md has no heading ${alert}`).to.equal(true);
    }
  });
});
