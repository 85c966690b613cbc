import { limits } from "#contracts/limits.ts";
import type { Postgres } from "../stores/postgres.ts";
import { lockPopularity, updatePopularity } from "./popularityQueries.ts";

/**
 * Sets `games.popularity` to the launches of the last 30 days, unless another replica does; a column because
 * a sort by a sum has no index.
 */
export async function refreshPopularity({ transaction }: Pick<Postgres, "transaction">): Promise<void> {
  await transaction(async (client) => {
    if (await lockPopularity(client)) await updatePopularity(client, limits.catalog.popularWindowDays);
  });
}
