import type { Queryable } from "../stores/queryable.ts";

/** A session that has ended and whose last save has not come yet. */
export interface UnreleasedGameSession {
  id: string;
  slotId: string | null;
  readyAt: Date | null;
  endedAt: Date;
  /** Whether its result is stored. */
  isRecorded: boolean;
  /** Now, by the database's clock. */
  now: Date;
}

/**
 * Returns sessions that have not given back their slot, the earliest end first: those whose result is stored,
 * and those that ended more than `patienceSeconds` ago for their players alone. The next page begins after
 * the last session of the one before.
 */
export async function listUnreleasedGameSessions(
  db: Queryable,
  patienceSeconds: number,
  limit: number,
  last?: Pick<UnreleasedGameSession, "id" | "endedAt">,
): Promise<UnreleasedGameSession[]> {
  const { rows } = await db.query<UnreleasedGameSession>({
    name: "list-unreleased",
    text: `SELECT id, slot_id AS "slotId", ready_at AS "readyAt", ended_at AS "endedAt", recorded_at IS NOT NULL AS "isRecorded", now() AS now FROM game_sessions
      WHERE slot_released_at IS NULL AND (recorded_at IS NOT NULL OR ended_at < now() - make_interval(secs => $1))
        AND ($3::timestamptz IS NULL OR (ended_at, id) > ($3, $4))
      ORDER BY ended_at, id LIMIT $2`,
    values: [patienceSeconds, limit, last?.endedAt ?? null, last?.id ?? null],
  });
  return rows;
}

/**
 * Ends, for their players, the sessions that were asked to stop more than `seconds` ago; the cluster's result
 * is stored when it comes. Each keeps its slot. Returns their ids.
 */
export async function updateSlowStopsEnded(db: Queryable, seconds: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "end-slow-stops",
    text: `
      WITH freed AS (
        UPDATE game_sessions SET status = 'stopped', ended_at = now(),
          duration_seconds = COALESCE(extract(epoch FROM stopping_at - ready_at)::float8, 0)
        WHERE status = 'stopping' AND stopping_at < now() - make_interval(secs => $1)
        RETURNING id, slot_id
      ), slot AS (
        UPDATE save_slots s SET last_played_at = GREATEST(last_played_at, now()) FROM freed WHERE s.id = freed.slot_id
      )
      SELECT id FROM freed`,
    values: [seconds],
  });
  return rows.map(({ id }) => id);
}

/**
 * Returns the last save of the session that its slot, or a version of it, knows; sequence 0 when there is
 * none.
 */
export async function findLastKnownSave(
  db: Queryable,
  slotId: string,
  gameSession: string,
): Promise<{ sequence: number; attempt: number }> {
  const { rows } = await db.query<{ sequence: number; attempt: number }>({
    name: "find-last-known-save",
    text: `SELECT sequence, attempt FROM save_versions WHERE slot_id = $1 AND game_session = $2
      UNION ALL SELECT sequence, attempt FROM save_slots WHERE id = $1 AND saved_by_session = $2
      ORDER BY sequence DESC, attempt DESC LIMIT 1`,
    values: [slotId, gameSession],
  });
  return rows[0] ?? { sequence: 0, attempt: 0 };
}
