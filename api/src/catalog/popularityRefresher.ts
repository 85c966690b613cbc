import { RepeatedJob, type BackgroundJob, type RepeatedJobOptions } from "#runtime/backgroundJob.ts";
import type { Postgres } from "../stores/postgres.ts";
import { refreshPopularity } from "./popularity.ts";

/** What keeping `sort=popular` up to date needs. */
export interface PopularityDeps extends Pick<RepeatedJobOptions, "clock" | "logger"> {
  postgres: Postgres;
}

const periodMs = 60_000;

/** Keeps `sort=popular` up to date. */
export function createPopularityRefresher({ clock, logger, postgres }: PopularityDeps): BackgroundJob {
  return new RepeatedJob({ clock, logger, name: "popularity", periodMs, work: () => refreshPopularity(postgres) });
}
