import type { StopReason, StoredSave } from "#contracts/crd/gameSession.ts";
import { parseSaveKey } from "#contracts/objectKeys.ts";
import type { PublicStatus } from "#contracts/crd/publicStatus.ts";
import type { Queryable } from "../stores/queryable.ts";

/** What the recorder has to know of a row. */
export interface RecordedSession {
  id: string;
  status: PublicStatus;
  slotId: string | null;
  gameId: string;
  /** Null until the cluster has, or had, the session's object. */
  crCreatedAt: Date | null;
  stopReason: StopReason | null;
  readyAt: Date | null;
  /** The database's clock. */
  now: Date;
}

/** How a session ended. */
export interface GameSessionEnd {
  status: "stopped" | "error";
  /** Used when no reason was stored before. */
  stopReason: StopReason;
  failure: { reason: string; message: string } | undefined;
  durationSeconds: number;
  cpuSeconds: number;
  peakMemoryMb: number;
}

/** The row of that id, whoever it belongs to. */
export async function readRecord(db: Queryable, id: string): Promise<RecordedSession | undefined> {
  const { rows } = await db.query<RecordedSession>({
    name: "read-record",
    text: `SELECT id, status, slot_id AS "slotId", game_id AS "gameId", cr_created_at AS "crCreatedAt", stop_reason AS "stopReason",
        ready_at AS "readyAt", now() AS "now"
      FROM game_sessions WHERE id = $1`,
    values: [id],
  });
  return rows[0];
}

/** Starting → running, and the idle clock with it; false when the session is in another state already. */
export async function recordReady(db: Queryable, id: string, readyAt: string, node: string | undefined): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "record-ready",
    text: `
      WITH ready AS (
        UPDATE game_sessions SET status = 'running', ready_at = $2, node = $3,
          expires_at = GREATEST(expires_at, now() + make_interval(secs => idle_timeout_seconds))
        WHERE id = $1 AND status = 'starting' RETURNING slot_id
      ), played AS (
        UPDATE save_slots SET last_played_at = $2 FROM ready WHERE save_slots.id = ready.slot_id
      )
      SELECT 1 FROM ready`,
    values: [id, readyAt, node ?? null],
  });
  return rowCount === 1;
}

/** The session is ending for a reason that did not come from here. */
export async function recordStopping(db: Queryable, id: string, reason: StopReason, readyAt: string | undefined): Promise<void> {
  await db.query({
    name: "record-stopping",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = $2, stopping_at = now(), ready_at = COALESCE(ready_at, $3)
      WHERE id = $1 AND status IN ('starting', 'running')`,
    values: [id, reason, readyAt ?? null],
  });
}

/** Any active state → its end; false when it was recorded before, so that what follows happens exactly once. */
export async function recordEnd(
  db: Queryable, id: string, end: GameSessionEnd, times: { readyAt: string | undefined; endedAt: string | undefined }, node: string | undefined,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "record-end",
    text: `UPDATE game_sessions SET status = $2::game_session_status, stop_reason = COALESCE(stop_reason, $3), failure_reason = $4,
        failure_message = $5, duration_seconds = $6, cpu_seconds = $7, peak_memory_mb = $8, ready_at = COALESCE(ready_at, $9),
        stopping_at = COALESCE(stopping_at, now()), ended_at = COALESCE($10, now()), recorded_at = now(), node = COALESCE($11, node)
      WHERE id = $1 AND status IN ('starting', 'running', 'stopping')`,
    values: [
      id, end.status, end.stopReason, end.failure?.reason ?? null, end.failure?.message ?? null, end.durationSeconds,
      end.cpuSeconds, end.peakMemoryMb, times.readyAt ?? null, times.endedAt ?? null, node ?? null,
    ],
  });
  return rowCount === 1;
}

/**
 * Points the slot to a newer save. Compare-and-set: the slot still is what the session started from, or holds an earlier
 * save of the same session; a late save of an older session changes nothing.
 */
export async function moveSlot(db: Queryable, slotId: string, gameSession: string, save: StoredSave): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "move-slot",
    text: `UPDATE save_slots SET object_key = $3, sha256 = $4, bytes = $5, generation = $6, sequence = $7, saved_by_session = $2,
        attempt = $9, unpacked_bytes = $10,
        label = 'Playthrough ' || number, last_played_at = GREATEST(last_played_at, $8)
      WHERE id = $1 AND (generation = $6 - 1
        OR (generation = $6 AND saved_by_session = $2 AND (sequence, attempt) < ($7, $9)))`,
    values: [
      slotId, gameSession, save.objectKey, save.sha256, save.bytes, save.generation, save.sequence, save.persistedAt,
      parseSaveKey(save.objectKey)?.attempt ?? 0, save.unpackedBytes ?? null,
    ],
  });
  return rowCount === 1;
}

/** The session was played until now; `isPending` while its last save is still on its node. */
export async function markSlotPlayed(db: Queryable, slotId: string, gameSession: string, isPending: boolean): Promise<void> {
  await db.query({
    name: "mark-slot-played",
    text: "UPDATE save_slots SET last_played_at = GREATEST(last_played_at, now()), pending_session = CASE WHEN $3 THEN $2 END WHERE id = $1",
    values: [slotId, gameSession, isPending],
  });
}

/** Stores what the player has to know of the last save. */
export async function noteSave(db: Queryable, id: string, notice: string): Promise<void> {
  await db.query({
    name: "note-save", text: "UPDATE game_sessions SET save_notice = $2 WHERE id = $1 AND save_notice IS DISTINCT FROM $2", values: [id, notice],
  });
}

/** The last save has come, or never will: the slot may be played again. */
export async function unlockSlot(db: Queryable, gameSession: string): Promise<void> {
  await db.query({
    name: "unlock-slot",
    text: "UPDATE save_slots SET pending_session = NULL WHERE pending_session = $1",
    values: [gameSession],
  });
}

/** Removes the slot that this launch made and never got to use: both were stored in one transaction, at one moment. */
export async function removeUnusedSlot(db: Queryable, gameSession: string): Promise<void> {
  await db.query({
    name: "remove-unused-slot",
    text: `DELETE FROM save_slots USING game_sessions s
      WHERE s.id = $1 AND save_slots.id = s.slot_id AND save_slots.object_key IS NULL AND save_slots.created_at >= s.started_at`,
    values: [gameSession],
  });
}

/** One session's use of its node. */
export interface Usage {
  cpuMillicores: number;
  peakMemoryMb: number;
  durationSeconds: number;
}

/** Takes a session's use into the game's moving averages; the first one is the average. */
export async function averageIn(db: Queryable, gameId: string, usage: Usage, newestWeight: number): Promise<void> {
  await db.query({
    name: "average-in",
    text: `UPDATE games SET profile_sessions = profile_sessions + 1,
        profile_cpu_millicores = COALESCE(profile_cpu_millicores * (1 - $2::float8) + $3 * $2::float8, $3),
        profile_peak_memory_mb = COALESCE(profile_peak_memory_mb * (1 - $2::float8) + $4 * $2::float8, $4),
        profile_duration_seconds = COALESCE(profile_duration_seconds * (1 - $2::float8) + $5 * $2::float8, $5)
      WHERE id = $1`,
    values: [gameId, newestWeight, usage.cpuMillicores, usage.peakMemoryMb, usage.durationSeconds],
  });
}
