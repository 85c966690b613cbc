import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { repositoryRoot } from "../processes/programs.ts";

/** The chart's dashboards. */
export const dashboardNames = ["platform", "session"] as const;
export type DashboardName = (typeof dashboardNames)[number];

/** A panel with its Prometheus queries. */
export interface Panel {
  title: string;
  expressions: string[];
}

const Dashboard = z.object({
  panels: z.array(
    z.object({
      type: z.string(),
      title: z.string(),
      targets: z.array(z.object({ expr: z.string() })).optional(),
    }),
  ),
});

/** Returns the dashboard's panels in order, without row headings. */
export function panelsOf(name: DashboardName): Panel[] {
  const { panels } = Dashboard.parse(
    JSON.parse(readFileSync(join(repositoryRoot, `charts/joypod/files/dashboards/${name}.json`), "utf8")),
  );
  return panels
    .filter(({ type }) => type !== "row")
    .map(({ title, targets = [] }) => ({ title, expressions: targets.map(({ expr }) => expr) }));
}
