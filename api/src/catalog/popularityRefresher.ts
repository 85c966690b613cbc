import type { BackgroundJob } from "../runtime/backgroundJob.ts";
import type { Postgres } from "../stores/postgres.ts";
import { refreshPopularity } from "./popularity.ts";
import { repeat, type RepeatOptions } from "../runtime/repeat.ts";

/** What keeping `sort=popular` up to date needs. */
export interface PopularityDeps extends Pick<RepeatOptions, "clock" | "logger"> {
  postgres: Postgres;
}

const periodMs = 60_000;

/** Keeps `sort=popular` up to date. */
export function createPopularityRefresher({ clock, logger, postgres }: PopularityDeps): BackgroundJob {
  return repeat({ clock, logger, name: "popularity", periodMs, work: () => refreshPopularity(postgres) });
}
