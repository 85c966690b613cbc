import { limits } from "#contracts/limits.ts";
import type { Postgres } from "../stores/postgres.ts";

/** Any constant: replicas agree on it, so that one of them does the work. */
const advisoryLock = 7_264_010_340;

/** Brings `games.popularity` to the launches of the last 30 days; kept as a column because a sort by a sum has no index. */
export async function refreshPopularity({ transaction }: Pick<Postgres, "transaction">): Promise<void> {
  await transaction(async (client) => {
    const { rows } = await client.query<{ isMine: boolean }>(`SELECT pg_try_advisory_xact_lock($1) AS "isMine"`, [advisoryLock]);
    if (rows[0]?.isMine !== true) return;
    await client.query(
      `UPDATE games SET popularity = counted.launches
       FROM (SELECT games.id, coalesce(sum(days.launches), 0)::int AS launches
             FROM games LEFT JOIN game_launch_days days
               ON days.game_id = games.id AND days.day > (now() AT TIME ZONE 'UTC')::date - $1::int
             GROUP BY games.id) counted
       WHERE games.id = counted.id AND games.popularity <> counted.launches`,
      [limits.catalog.popularWindowDays],
    );
  });
}
