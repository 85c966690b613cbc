import {
  RepeatedJob,
  type BackgroundJob,
  type RepeatedJobOptions,
} from "#runtime/scheduling/backgroundJob.ts";
import type { Postgres } from "../stores/postgres.ts";
import { limits } from "#contracts/limits.ts";
import { lockPopularity, updatePopularity } from "./catalogQueries.ts";

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

/**
 * Sets `games.popularity` to the launches of the last 30 days, unless another replica does; a column because
 * a sort by a sum has no index.
 */
export async function refreshPopularity({ transaction }: Pick<Postgres, "transaction">): Promise<void> {
  await transaction(async (client) => {
    if (await lockPopularity(client)) await updatePopularity(client, limits.catalog.popularWindowDays);
  });
}
