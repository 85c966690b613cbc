import type { BackgroundJob } from "../runtime/backgroundJob.ts";
import type { Postgres } from "../stores/postgres.ts";
import { refreshPopularity } from "./refreshPopularity.ts";
import { repeat, type RepeatOptions } from "../runtime/repeat.ts";

/** What refreshing `sort=popular` needs. */
export interface PopularityDeps extends Pick<RepeatOptions, "clock" | "logger"> {
  postgres: Postgres;
}

const periodMs = 60_000;

/** Returns the job that refreshes `sort=popular` once a minute. */
export function createPopularityRefresher({ clock, logger, postgres }: PopularityDeps): BackgroundJob {
  return repeat({ clock, logger, name: "popularity", periodMs, work: () => refreshPopularity(postgres) });
}
