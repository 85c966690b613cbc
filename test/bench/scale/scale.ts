import type { BenchRow } from "../row.ts";
import { measureDeadWatch } from "./deadWatch.ts";
import { measureGrowth } from "./growth.ts";
import { measureLaunchStorm } from "./launchStorm.ts";
import { measureLeaders } from "./leaders.ts";
import { measureSoak } from "./soak.ts";
import { measureThroughput } from "./throughput.ts";

const soakMinutes = Number(process.env["SOAK_MINUTES"] ?? (process.env["LONG"] === "1" ? 60 : 10));

/**
 * Measures the wanted ones of O1 to O5, R4 and R7: real programs with a separate API server and stores,
 * without a cluster.
 */
export async function measureScale(isWanted: (part: string) => boolean): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  if (isWanted("O1")) rows.push(...(await measureThroughput()));
  if (isWanted("O3")) rows.push(...(await measureLeaders()));
  if (isWanted("O4")) rows.push(await measureDeadWatch());
  if (isWanted("R4")) rows.push(...(await measureLaunchStorm()));
  if (["O2", "O5"].some(isWanted)) rows.push(...(await measureGrowth(isWanted)));
  if (isWanted("R7")) rows.push(...(await measureSoak(soakMinutes)));
  return rows;
}
