import type { Queryable } from "../../stores/queryable.ts";

/** How long a player has played in the current day and month. */
export interface PlayedTime {
  /** The database's time, like the others. */
  now: Date;
  dayEndsAt: Date;
  monthEndsAt: Date;
  daySeconds: number;
  monthSeconds: number;
}

/** The play limits of a player's groups, each null if none of them has one. */
export interface GroupPlayLimits {
  daySeconds: number | null;
  monthSeconds: number | null;
}

/** Returns SQL for the most generous limits of the groups of a user, as a JSON object. */
export function groupPlayLimitsOf(userId: string): string {
  return `(SELECT json_build_object('daySeconds', max(pg.play_seconds_per_day), 'monthSeconds', max(pg.play_seconds_per_month))
    FROM player_group_members pm JOIN player_groups pg ON pg.id = pm.group_id WHERE pm.user_id = ${userId})`;
}

/** Returns the most generous limits of the player's groups. */
export async function findGroupPlayLimits(db: Queryable, userId: string): Promise<GroupPlayLimits> {
  const { rows } = await db.query<{ limits: GroupPlayLimits }>({
    name: "find-group-play-limits",
    text: `SELECT ${groupPlayLimitsOf("$1")} AS limits`,
    values: [userId],
  });
  if (rows[0] === undefined) throw new Error("The database returned no play limits.");
  return rows[0].limits;
}

/**
 * Returns the time that the player has played since the beginning of the day and the month in this time zone.
 * It counts from the moment a session can be played until it is asked to stop.
 */
export async function findPlayedTime(db: Queryable, userId: string, timeZone: string): Promise<PlayedTime> {
  const { rows } = await db.query<PlayedTime>({
    name: "find-played-time",
    text: `
      WITH span AS (
        SELECT date_trunc('day', now(), $2) AS day, date_trunc('month', now(), $2) AS month,
          (date_trunc('day', now() AT TIME ZONE $2) + interval '1 day') AT TIME ZONE $2 AS day_end,
          (date_trunc('month', now() AT TIME ZONE $2) + interval '1 month') AT TIME ZONE $2 AS month_end
      ), played AS (
        SELECT s.ready_at AS since, LEAST(s.stopping_at, s.ended_at, now()) AS until FROM game_sessions s
        WHERE s.user_id = $1 AND s.ready_at IS NOT NULL AND LEAST(s.stopping_at, s.ended_at, now()) > (SELECT month FROM span)
      )
      SELECT now() AS now, day_end AS "dayEndsAt", month_end AS "monthEndsAt",
        (SELECT coalesce(sum(extract(epoch FROM until - GREATEST(since, day))), 0) FROM played WHERE until > day)::float8 AS "daySeconds",
        (SELECT coalesce(sum(extract(epoch FROM until - GREATEST(since, month))), 0) FROM played)::float8 AS "monthSeconds"
      FROM span`,
    values: [userId, timeZone],
  });
  if (rows[0] === undefined) throw new Error("The database returned no play time.");
  return rows[0];
}
