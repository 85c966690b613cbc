import { RepeatedJob, type BackgroundJob } from "#runtime/backgroundJob.ts";
import type { Deps } from "../deps.ts";
import { refreshPopularity } from "./popularity.ts";

const periodMs = 60_000;

/** Keeps `sort=popular` up to date. */
export function createPopularityRefresher(deps: Deps): BackgroundJob {
  return new RepeatedJob({ ...deps, name: "popularity", periodMs, work: () => refreshPopularity(deps.postgres) });
}
