import type { Queryable } from "../stores/queryable.ts";

/** Any constant: replicas agree on it, so that one of them does the work. */
const advisoryLock = 7_264_010_340;

/** Takes the right to count the launches until the transaction ends; false when another replica has it. */
export async function lockPopularity(transaction: Queryable): Promise<boolean> {
  const { rows } = await transaction.query<{ isMine: boolean }>(
    `SELECT pg_try_advisory_xact_lock($1) AS "isMine"`,
    [advisoryLock],
  );
  return rows[0]?.isMine === true;
}

/** Sets the popularity of every game to its launches of the last `days` days. */
export async function updatePopularity(transaction: Queryable, days: number): Promise<void> {
  await transaction.query(
    `WITH counted AS (
       SELECT games.id, coalesce(sum(days.launches), 0)::int AS launches
         FROM games LEFT JOIN game_launch_days days
           ON days.game_id = games.id AND days.day > (now() AT TIME ZONE 'UTC')::date - $1::int
         GROUP BY games.id
     ), changed AS (
       -- Locked by id, as launches lock theirs: in another order each would wait for the other.
       SELECT games.id, counted.launches FROM games JOIN counted ON counted.id = games.id
         WHERE games.popularity <> counted.launches ORDER BY games.id FOR NO KEY UPDATE OF games
     )
     UPDATE games SET popularity = changed.launches FROM changed WHERE games.id = changed.id`,
    [days],
  );
}
