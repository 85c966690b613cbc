import type { BackgroundJob } from "../runtime/backgroundJob.ts";
import type { Deps } from "../deps.ts";
import { refreshPopularity } from "./refreshPopularity.ts";
import { repeat } from "../runtime/repeat.ts";

const periodMs = 60_000;

/** Returns the job that refreshes `sort=popular` once a minute. */
export function createPopularityRefresher(deps: Deps): BackgroundJob {
  return repeat({ ...deps, name: "popularity", periodMs, work: () => refreshPopularity(deps.postgres) });
}
