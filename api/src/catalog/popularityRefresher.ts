import {
  RepeatedJob,
  type BackgroundJob,
  type RepeatedJobOptions,
} from "#runtime/scheduling/backgroundJob.ts";
import type { Postgres } from "../stores/postgres.ts";
import { refreshPopularity } from "./refreshPopularity.ts";

/** What keeping `sort=popular` up to date needs. */
export interface PopularityDeps extends Pick<RepeatedJobOptions, "clock" | "logger"> {
  postgres: Postgres;
}

const periodMs = 60_000;

/** Returns the job that refreshes `sort=popular` once a minute. */
export function createPopularityRefresher({ clock, logger, postgres }: PopularityDeps): BackgroundJob {
  return new RepeatedJob({
    clock,
    logger,
    name: "popularity",
    periodMs,
    work: () => refreshPopularity(postgres),
  });
}
