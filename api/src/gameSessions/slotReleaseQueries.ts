import type { Queryable } from "../stores/queryable.ts";

/** A session whose result is stored and whose last save has not come yet. */
export interface UnreleasedGameSession {
  id: string;
  slotId: string | null;
  readyAt: Date | null;
  endedAt: Date;
  /** Now, by the database's clock. */
  now: Date;
}

/** Returns sessions whose result is stored and that have not given back their slot, the earliest end first. */
export async function listUnreleasedGameSessions(db: Queryable, limit: number): Promise<UnreleasedGameSession[]> {
  const { rows } = await db.query<UnreleasedGameSession>({
    name: "list-unreleased",
    text: `SELECT id, slot_id AS "slotId", ready_at AS "readyAt", ended_at AS "endedAt", now() AS now FROM game_sessions
      WHERE slot_released_at IS NULL AND recorded_at IS NOT NULL ORDER BY ended_at LIMIT $1`,
    values: [limit],
  });
  return rows;
}

/** Takes the slots of sessions that ended more than `patienceSeconds` ago, whatever became of their objects. Returns how many there were. */
export async function updateOverdueSlotsReleased(db: Queryable, patienceSeconds: number, limit: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "release-overdue-slots",
    text: `
      WITH released AS (
        UPDATE game_sessions SET slot_released_at = now()
        WHERE id IN (SELECT id FROM game_sessions WHERE slot_released_at IS NULL AND ended_at < now() - make_interval(secs => $1) LIMIT $2)
          AND slot_released_at IS NULL
        RETURNING id, slot_id
      ), slot AS (
        UPDATE save_slots s SET pending_session = NULL FROM released WHERE s.id = released.slot_id AND s.pending_session = released.id
      )
      SELECT FROM released`,
    values: [patienceSeconds, limit],
  });
  return rowCount ?? 0;
}

/**
 * Ends, for their players, the sessions that were asked to stop more than `seconds` ago; the cluster's result is stored when it comes. Each keeps
 * its slot. Returns their ids.
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
        UPDATE save_slots s SET last_played_at = GREATEST(last_played_at, now()), pending_session = freed.id FROM freed WHERE s.id = freed.slot_id
      )
      SELECT id FROM freed`,
    values: [seconds],
  });
  return rows.map(({ id }) => id);
}

/** Returns the last save of the session that its slot, or a version of it, knows; sequence 0 when there is none. */
export async function findLastKnownSave(db: Queryable, slotId: string, gameSession: string): Promise<{ sequence: number; attempt: number }> {
  const { rows } = await db.query<{ sequence: number; attempt: number }>({
    name: "find-last-known-save",
    text: `SELECT sequence, attempt FROM save_versions WHERE slot_id = $1 AND game_session = $2
      UNION ALL SELECT sequence, attempt FROM save_slots WHERE id = $1 AND saved_by_session = $2
      ORDER BY sequence DESC, attempt DESC LIMIT 1`,
    values: [slotId, gameSession],
  });
  return rows[0] ?? { sequence: 0, attempt: 0 };
}
