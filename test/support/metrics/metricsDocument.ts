import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "../processes/programs.ts";

/** A metric in docs/metrics.md or in the output of a program. */
export interface DescribedMetric {
  type: string;
  labels: string[];
  help: string;
}

/** Headings of docs/metrics.md with a table of metrics. */
export type MetricsSection =
  | "API"
  | "Operator"
  | "Node agent"
  | "API, operator and node agent"
  | "Relay"
  | "Streamer";

/**
 * Returns the metrics under a heading of docs/metrics.md by name.
 *
 * @throws If there is no such heading.
 */
export function documentedMetrics(section: MetricsSection): Map<string, DescribedMetric> {
  const text = readFileSync(join(repositoryRoot, "docs/metrics.md"), "utf8");
  const [, after] = text.split(`\n### ${section}\n`);
  if (after === undefined) throw new Error(`docs/metrics.md has no heading ${section}.`);
  const [own = ""] = after.split(/\n##/);
  return new Map(
    [...own.matchAll(/^\| `(\w+)` +\| (\w+) +\| ([^|]*?) +\| (.*?) +\|$/gm)].map(
      ([, name = "", type = "", labels = "", help = ""]) => [
        name,
        { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label), help },
      ],
    ),
  );
}

/**
 * Expects that a program's `/metrics` has exactly the metrics under these headings of docs/metrics.md, with
 * the same types, labels and descriptions. Ignores Node.js metrics and labels that all metrics of a program
 * have. Metrics in `absent` may be missing.
 */
export function expectDocumented(
  shown: string,
  sections: readonly MetricsSection[],
  { absent = [], commonLabels = [] }: { absent?: readonly string[]; commonLabels?: readonly string[] } = {},
): void {
  const documented = new Map(sections.flatMap((section) => [...documentedMetrics(section)]));
  const found = metricsIn(shown, commonLabels);
  for (const [name, { type, help, labels }] of found) {
    const row = documented.get(name);
    expect(row, `${name} is not in docs/metrics.md under ${sections.join(" or ")}`).to.not.equal(undefined);
    expect({ name, type, help }).to.deep.equal({ name, type: row?.type, help: row?.help });
    expect(row?.labels, `labels of ${name}`).to.include.members(labels);
  }
  expect(
    [...documented.keys()].filter((name) => !found.has(name) && !absent.includes(name)),
    "metrics of docs/metrics.md that the program does not show",
  ).to.deep.equal([]);
}

function metricsIn(text: string, commonLabels: readonly string[]): Map<string, DescribedMetric> {
  const metrics = new Map<string, DescribedMetric>();
  for (const [, name = "", help = "", type = ""] of text.matchAll(
    /^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm,
  )) {
    if (/^(process|nodejs|joypod_node_agent)_/.test(name)) continue;
    const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, "gm"));
    const labels = new Set(
      [...samples].flatMap(([, pairs = ""]) =>
        [...pairs.matchAll(/(\w+)="/g)].map(([, label = ""]) => label),
      ),
    );
    metrics.set(name, {
      type,
      help,
      labels: [...labels].filter(
        (label) => !(type === "histogram" && label === "le") && !commonLabels.includes(label),
      ),
    });
  }
  return metrics;
}
