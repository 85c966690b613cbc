import { RepeatedJob, type BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import { limits } from "#contracts/limits.ts";
import type { Postgres } from "../stores/postgres.ts";
import { lockPopularity, updatePopularity } from "./catalogQueries.ts";
import type { Deps } from "../deps.ts";

const periodMs = 60_000;

/** Returns the job that updates `sort=popular` once a minute. */
export function createPopularityRefresher({
  clock,
  logger,
  postgres,
}: Pick<Deps, "clock" | "logger" | "postgres">): BackgroundJob {
  return new RepeatedJob({
    clock,
    logger,
    name: "popularity",
    periodMs,
    work: () => refreshPopularity(postgres),
  });
}

/**
 * Sets `games.popularity` to the launches of the last 30 days, unless another replica is doing so. It is a
 * column because a sort by a sum cannot use an index.
 */
export async function refreshPopularity({ transaction }: Pick<Postgres, "transaction">): Promise<void> {
  await transaction(async (client) => {
    if (await lockPopularity(client)) await updatePopularity(client, limits.catalog.popularWindowDays);
  });
}
