import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { attemptOf } from "#contracts/objectKeys.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** An ended session whose last save has not arrived yet. */
export interface UnreleasedGameSession {
  id: string;
  slotId: string | null;
  readyAt: Date | null;
  endedAt: Date;
  /** Whether the session's result is stored. */
  isRecorded: boolean;
  /** The database's time. */
  now: Date;
}

/** Result of recording a save: the slot moved to it, it was known, or the session does not own the slot. */
export type SlotMove = "moved" | "known" | "not_owner";

/**
 * Points the slot to a newer save of the session that owns it, and updates that session's version; its first
 * save supersedes the previous version, with the next generation. The agent's generation is only a name,
 * because a restore may have moved the slot since. The play time comes from the node, whose clock may be
 * ahead, and is capped at now. The save that was recorded before the session's end began is remembered,
 * because what a game writes at its end may be incomplete.
 */
export async function updateSlotSave(
  db: Queryable,
  slotId: string,
  gameSession: string,
  save: StoredSave,
): Promise<SlotMove> {
  const { rows } = await db.query<{ isOwner: boolean; hasMoved: boolean }>({
    name: "move-slot",
    text: `
      WITH owner AS (
        SELECT id, stopping_at FROM game_sessions WHERE id = $2 AND slot_id = $1 AND slot_released_at IS NULL FOR SHARE
      ), slot AS (
        SELECT s.id, CASE WHEN s.saved_by_session = $2 THEN s.generation ELSE s.generation + 1 END AS next_generation
        FROM owner CROSS JOIN save_slots s
        WHERE s.id = $1 AND NOT (s.saved_by_session IS NOT DISTINCT FROM $2 AND (s.sequence, s.attempt) >= ($6::int, $7::int))
        FOR NO KEY UPDATE OF s
      ), version AS (
        INSERT INTO save_versions AS v (slot_id, kind, game_session, object_key, sha256, bytes, sequence, attempt, unpacked_bytes, generation)
        SELECT $1, 'played', $2, $3, $4, $5, $6, $7, $8, next_generation FROM slot
        ON CONFLICT (slot_id, game_session, kind) WHERE kind IN ('played', 'conflict') DO UPDATE SET
          object_key = EXCLUDED.object_key, sha256 = EXCLUDED.sha256, bytes = EXCLUDED.bytes, sequence = EXCLUDED.sequence,
          attempt = EXCLUDED.attempt, unpacked_bytes = EXCLUDED.unpacked_bytes, generation = EXCLUDED.generation,
          stored_at = now(), superseded_at = NULL, unreadable_at = NULL, before_end = COALESCE(v.before_end, (
            SELECT jsonb_build_object('objectKey', v.object_key, 'sha256', v.sha256, 'bytes', v.bytes, 'unpackedBytes', v.unpacked_bytes,
              'sequence', v.sequence, 'attempt', v.attempt, 'storedAt', v.stored_at)
            FROM owner WHERE v.stored_at < owner.stopping_at OR owner.stopping_at IS NULL AND $10))
        WHERE (v.sequence, v.attempt) < (EXCLUDED.sequence, EXCLUDED.attempt)
        RETURNING v.id, v.generation
      ), former AS (
        UPDATE save_versions v SET superseded_at = now() FROM version
        WHERE v.slot_id = $1 AND v.superseded_at IS NULL AND v.kind <> 'conflict' AND v.id <> version.id
      ), moved AS (
        UPDATE save_slots s SET object_key = $3, sha256 = $4, bytes = $5, sequence = $6, attempt = $7, unpacked_bytes = $8,
          generation = version.generation, saved_by_session = $2, label = COALESCE(custom_label, 'Playthrough ' || number),
          last_played_at = LEAST(GREATEST(last_played_at, $9), now())
        FROM version WHERE s.id = $1 RETURNING s.id
      )
      SELECT EXISTS (SELECT FROM owner) AS "isOwner", EXISTS (SELECT FROM moved) AS "hasMoved"`,
    values: [
      slotId,
      gameSession,
      save.objectKey,
      save.sha256,
      save.bytes,
      save.sequence,
      attemptOf(save.objectKey),
      save.unpackedBytes ?? null,
      save.persistedAt,
      save.final,
    ],
  });
  if (rows[0]?.isOwner !== true) return "not_owner";
  return rows[0].hasMoved ? "moved" : "known";
}

/** Records that the slot was played until now. */
export async function updateSlotPlayed(db: Queryable, slotId: string): Promise<void> {
  await db.query({
    name: "mark-slot-played",
    text: "UPDATE save_slots SET last_played_at = now() WHERE id = $1",
    values: [slotId],
  });
}

/**
 * Removes the slot that this launch created and never used. Both were stored in one transaction, and nobody
 * else has played the slot.
 */
export async function deleteUnusedSlot(db: Queryable, gameSession: string): Promise<void> {
  await db.query({
    name: "remove-unused-slot",
    text: `DELETE FROM save_slots USING game_sessions s
      WHERE s.id = $1 AND save_slots.id = s.slot_id AND save_slots.object_key IS NULL AND save_slots.created_at >= COALESCE(s.queued_at, s.started_at)
        AND NOT EXISTS (SELECT FROM game_sessions other WHERE other.slot_id = save_slots.id AND other.id <> $1)`,
    values: [gameSession],
  });
}

/**
 * Releases the session's slot: its last save has arrived or never will. Removes an empty slot created for a
 * session that never ran. Idempotent.
 */
export async function releaseSlot(db: Queryable, gameSession: string, hasRun: boolean): Promise<void> {
  if (!hasRun) await deleteUnusedSlot(db, gameSession);
  await db.query({
    name: "release-slot",
    text: "UPDATE game_sessions SET slot_released_at = now() WHERE id = $1 AND slot_released_at IS NULL",
    values: [gameSession],
  });
}

/**
 * Returns sessions that have not released their slot, earliest end first: those with a stored result, and
 * those whose players were freed more than `patienceSeconds` ago. The next page starts after `last`.
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
 * Ends, for their players, sessions that were asked to stop more than `seconds` ago, and returns their ids.
 * The cluster's result is stored when it arrives. Each session keeps its slot.
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

/** Returns the session's last save known to its slot or a version; sequence 0 if there is none. */
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
