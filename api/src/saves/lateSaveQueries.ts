import type { Queryable } from "../stores/queryable.ts";

/** A session's save that was found or reported when the session did not own its slot. */
export interface LateSave {
  slotId: string;
  gameSession: string;
  objectKey: string;
  sha256: string;
  bytes: number;
  unpackedBytes: number | null;
  /** As the node agent counts. */
  generation: number;
  sequence: number;
  attempt: number;
}

/** As what a late save is kept. */
export interface LateSaveKind {
  kind: "conflict" | "played";
  /**
   * When it came; now, unless given. Saves from before there were versions came earlier, and are superseded.
   */
  storedAt?: Date;
}

/**
 * SQL that is true of a save (slot, session, key, sequence and attempt are the parameters 1 to 5) whose
 * session does not own the slot, and of which no record is left: neither of that object, nor of a later save
 * of the session.
 */
const isUnrecorded = `NOT EXISTS (SELECT FROM game_sessions WHERE id = $2 AND slot_id = $1 AND slot_released_at IS NULL)
        AND NOT EXISTS (SELECT FROM save_versions WHERE slot_id = $1 AND (object_key = $3 OR game_session = $2 AND (sequence, attempt) >= ($4::int, $5::int)))
        AND NOT EXISTS (SELECT FROM save_slots WHERE id = $1 AND saved_by_session = $2 AND (sequence, attempt) >= ($4::int, $5::int))`;

/** Returns whether `insertLateSave` would keep the save. */
export async function isLateSaveUnrecorded(
  db: Queryable,
  save: Pick<LateSave, "slotId" | "gameSession" | "objectKey" | "sequence" | "attempt">,
): Promise<boolean> {
  const { rows } = await db.query<{ isUnrecorded: boolean }>({
    name: "is-late-save-unrecorded",
    text: `SELECT ${isUnrecorded} AS "isUnrecorded"`,
    values: [save.slotId, save.gameSession, save.objectKey, save.sequence, save.attempt],
  });
  return rows[0]?.isUnrecorded === true;
}

/**
 * Keeps the save as a version of its own, in the place of an earlier one of that kind and session; false when
 * the session owns the slot, or when this save or a later one of the session is recorded. May be repeated.
 */
export async function insertLateSave(
  db: Queryable,
  save: LateSave,
  { kind, storedAt }: LateSaveKind,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "insert-late-save",
    text: `
      INSERT INTO save_versions AS v (slot_id, game_session, object_key, sequence, attempt, kind, sha256, bytes, unpacked_bytes, generation,
        stored_at, superseded_at)
      SELECT $1, $2, $3, $4::int, $5::int, $6::save_version_kind, $7, $8, $9, $10, COALESCE($11, now()),
        CASE WHEN $6::save_version_kind = 'played' THEN now() END
      WHERE ${isUnrecorded}
      ON CONFLICT (slot_id, game_session, kind) WHERE kind IN ('played', 'conflict') DO UPDATE SET
        object_key = EXCLUDED.object_key, sha256 = EXCLUDED.sha256, bytes = EXCLUDED.bytes, unpacked_bytes = EXCLUDED.unpacked_bytes,
        generation = EXCLUDED.generation, sequence = EXCLUDED.sequence, attempt = EXCLUDED.attempt, stored_at = EXCLUDED.stored_at, unreadable_at = NULL
      WHERE (v.sequence, v.attempt) < (EXCLUDED.sequence, EXCLUDED.attempt)`,
    values: [
      save.slotId,
      save.gameSession,
      save.objectKey,
      save.sequence,
      save.attempt,
      kind,
      save.sha256,
      save.bytes,
      save.unpackedBytes,
      save.generation,
      storedAt ?? null,
    ],
  });
  return rowCount === 1;
}
