import type { SaveVersionKind } from "#contracts/http/saves.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { StoredSave } from "#contracts/crd/gameSession.ts";

/** A save referenced by its slot or by a version. */
export interface NamedSave {
  objectKey: string;
  sha256: string;
  bytes: number;
  /** Null for saves of releases that did not record it. */
  unpackedBytes: number | null;
}

/** The properties of a save's object in the object store. */
export type SavedObject = Pick<NamedSave, "objectKey" | "sha256" | "bytes">;

/** A row of a slot's history. */
export interface SaveVersion extends NamedSave {
  id: string;
  slotId: string;
  kind: SaveVersionKind;
  /** Session that stored it; null if no session did. */
  gameSession: string | null;
  generation: number;
  sequence: number;
  attempt: number;
  storedAt: Date;
  /** Null for the slot's current version, and for conflict copies. */
  supersededAt: Date | null;
  unreadableAt: Date | null;
  /** Whether it may be incomplete, because the game was killed. */
  isSuspect: boolean;
}

/** Postgres returns bigint as text. Sizes of saves fit exactly into JavaScript numbers. */
const columns = `id, slot_id AS "slotId", kind, game_session AS "gameSession", object_key AS "objectKey", sha256, bytes::float8 AS bytes,
  unpacked_bytes::float8 AS "unpackedBytes", generation, sequence, attempt, stored_at AS "storedAt", superseded_at AS "supersededAt",
  unreadable_at AS "unreadableAt", is_suspect AS "isSuspect"`;

/** Returns all versions of the slots, newest first. Players see only those that `keptVersions` returns. */
export async function listSaveVersions(db: Queryable, slotIds: readonly string[]): Promise<SaveVersion[]> {
  const { rows } = await db.query<SaveVersion>({
    name: "list-save-versions",
    text: `SELECT ${columns} FROM save_versions WHERE slot_id = ANY ($1) ORDER BY stored_at DESC, generation DESC, sequence DESC, attempt DESC`,
    values: [slotIds],
  });
  return rows;
}

/** A slot whose row is locked until its transaction ends. */
interface LockedSlot {
  id: string;
  userId: string;
  gameId: string;
  number: number;
  generation: number;
  /** Null until the first save. */
  objectKey: string | null;
  /** Session that owns the slot and has the exclusive right to change it; null without one. */
  owner: string | null;
}

/**
 * Locks the slot's row until the transaction ends, against moves and removals of versions and, unless
 * `letsLaunch`, against new owners. Returns undefined for an unknown slot. Waits for other holders, unless
 * `waits` is false.
 *
 * @throws an error for which `isLockedByAnother` is true, when `waits` is false
 */
export async function lockSlot(
  transaction: Queryable,
  slotId: string,
  { letsLaunch = false, waits = true } = {},
): Promise<LockedSlot | undefined> {
  const lock = `FOR ${letsLaunch ? "NO KEY UPDATE" : "UPDATE"}${waits ? "" : " NOWAIT"}`;
  const { rowCount } = await transaction.query({
    name: `lock-slot-${lock.toLowerCase().replaceAll(" ", "-")}`,
    text: `SELECT FROM save_slots WHERE id = $1 ${lock}`,
    values: [slotId],
  });
  if (rowCount === 0) return undefined;
  // A separate statement: one that waited for the lock does not see the owner that committed in the
  // meantime.
  const { rows } = await transaction.query<LockedSlot>({
    name: "read-locked-slot",
    text: `SELECT id, user_id AS "userId", game_id AS "gameId", number, generation, object_key AS "objectKey",
        (SELECT o.id FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL) AS "owner"
      FROM save_slots s WHERE id = $1`,
    values: [slotId],
  });
  return rows[0];
}

/** A version that no session stored. */
interface NewSlotVersion extends NamedSave {
  kind: "restored" | "imported";
}

/**
 * Makes a save the slot's current version: stores it with the next generation, moves the slot to it, and
 * marks the previous version as superseded. Returns the version's id. The transaction must have locked the
 * slot and checked that it has no owner.
 */
export async function insertSlotVersion(
  transaction: Queryable,
  slotId: string,
  version: NewSlotVersion,
): Promise<string> {
  const { rows } = await transaction.query<{ id: string }>({
    name: "insert-slot-version",
    text: `
      WITH slot AS (
        UPDATE save_slots SET object_key = $3, sha256 = $4, bytes = $5, unpacked_bytes = $6, generation = generation + 1, saved_by_session = NULL,
          sequence = 0, attempt = 0, label = COALESCE(custom_label, 'Playthrough ' || number)
        WHERE id = $1 RETURNING id, generation
      ), former AS (
        UPDATE save_versions SET superseded_at = now() WHERE slot_id = $1 AND superseded_at IS NULL AND kind <> 'conflict'
      )
      INSERT INTO save_versions (slot_id, kind, object_key, sha256, bytes, unpacked_bytes, generation)
      SELECT id, $2::save_version_kind, $3, $4, $5, $6, generation FROM slot
      RETURNING id`,
    values: [slotId, version.kind, version.objectKey, version.sha256, version.bytes, version.unpackedBytes],
  });
  const [inserted] = rows;
  if (inserted === undefined) throw new Error(`There is no save slot ${slotId}.`);
  return inserted.id;
}

/** A session's save that was found or reported while the session did not own its slot. */
interface LateSave {
  slotId: string;
  gameSession: string;
  objectKey: string;
  sha256: string;
  bytes: number;
  unpackedBytes: number | null;
  /** Generation as counted by the node agent. */
  generation: number;
  sequence: number;
  attempt: number;
}

/**
 * SQL condition for a save (parameters 1 to 5: slot, session, key, sequence, attempt): its session does not
 * own the slot, and neither the save nor a later one of the session is recorded.
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
 * Keeps the save as a conflict copy, and replaces an earlier one of the session. Returns false when the
 * session owns the slot, or when this save or a later one of the session is recorded. Idempotent.
 */
export async function insertLateSave(db: Queryable, save: LateSave): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "insert-late-save",
    text: `
      INSERT INTO save_versions AS v (slot_id, game_session, object_key, sequence, attempt, kind, sha256, bytes, unpacked_bytes, generation)
      SELECT $1, $2, $3, $4::int, $5::int, 'conflict', $6, $7, $8, $9
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
      save.sha256,
      save.bytes,
      save.unpackedBytes,
      save.generation,
    ],
  });
  return rowCount === 1;
}

/** Returns whether the session's save for that request, or for a later one, is recorded as a version. */
export async function hasRequestedVersion(
  db: Queryable,
  slotId: string,
  gameSession: string,
  requestedAt: string,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "has-requested-version",
    text: "SELECT FROM save_versions WHERE slot_id = $1 AND game_session = $2 AND kind = 'requested' AND stored_at >= $3 LIMIT 1",
    values: [slotId, gameSession, requestedAt],
  });
  return rowCount === 1;
}

/**
 * Stores the version of a request with the time of the request. By the node's clock, a later request could
 * seem to be fulfilled already.
 */
export async function insertRequestedVersion(
  transaction: Queryable,
  slotId: string,
  gameSession: string,
  save: StoredSave & { requestedAt: string; attempt: number },
): Promise<void> {
  await transaction.query({
    name: "insert-requested-version",
    text: `INSERT INTO save_versions (slot_id, kind, game_session, object_key, sha256, bytes, unpacked_bytes, generation, sequence, attempt, stored_at)
      VALUES ($1, 'requested', $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      slotId,
      gameSession,
      save.objectKey,
      save.sha256,
      save.bytes,
      save.unpackedBytes ?? null,
      save.generation,
      save.sequence,
      save.attempt,
      save.requestedAt,
    ],
  });
}

/**
 * Marks the session's save as suspect, and keeps the one before the session's end as a version. Idempotent.
 * Returns false if that was done before, or if the save is not the session's last one.
 */
export async function updateSaveSuspect(
  db: Queryable,
  slotId: string,
  gameSession: string,
  objectKey: string,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "mark-save-suspect",
    text: `
      WITH suspect AS (
        UPDATE save_versions SET is_suspect = true
        WHERE slot_id = $1 AND game_session = $2 AND object_key = $3 AND kind IN ('played', 'conflict') AND NOT is_suspect
        RETURNING slot_id, generation, before_end
      ), earlier AS (
        INSERT INTO save_versions (slot_id, kind, game_session, object_key, sha256, bytes, unpacked_bytes, generation, sequence, attempt, stored_at, superseded_at)
        SELECT s.slot_id, 'autosave', $2, b."objectKey", b.sha256, b.bytes, b."unpackedBytes", s.generation, b.sequence, b.attempt, b."storedAt", now()
        FROM suspect s, jsonb_to_record(s.before_end)
          AS b("objectKey" text, sha256 text, bytes bigint, "unpackedBytes" bigint, sequence int, attempt int, "storedAt" timestamptz)
        WHERE s.before_end IS NOT NULL AND b."objectKey" <> $3
      )
      SELECT FROM suspect`,
    values: [slotId, gameSession, objectKey],
  });
  return rowCount !== 0;
}

/** A save with its slot: only versions of that slot reference it. */
export interface CheckedObject extends SavedObject {
  slotId: string;
  /** The version whose check is due. */
  versionId: string;
}

/** Records in all versions of an object whether it is readable. Returns whether that has changed. */
export async function updateObjectReadable(
  db: Queryable,
  { slotId, objectKey }: Pick<CheckedObject, "slotId" | "objectKey">,
  isReadable: boolean,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "note-object-readable",
    text: `UPDATE save_versions SET unreadable_at = CASE WHEN $3 THEN NULL ELSE now() END, check_due_at = LEAST(check_due_at, now())
      WHERE slot_id = $1 AND object_key = $2 AND (unreadable_at IS NULL) <> $3`,
    values: [slotId, objectKey, isReadable],
  });
  return rowCount !== 0;
}

/** Returns the object whose check is overdue the longest; undefined when no check is due. */
export async function findDueCheck(db: Queryable): Promise<CheckedObject | undefined> {
  const { rows } = await db.query<CheckedObject>({
    name: "find-due-save-check",
    text: `SELECT id AS "versionId", slot_id AS "slotId", object_key AS "objectKey", sha256, bytes::float8 AS bytes FROM save_versions WHERE check_due_at <= now() ORDER BY check_due_at LIMIT 1`,
  });
  return rows[0];
}

/**
 * Schedules the next check of the object after that many seconds, and that of the due version, which may
 * reference a newer object by now. Otherwise that version would stay first in the queue while its session
 * runs.
 */
export async function updateCheckDue(
  db: Queryable,
  { slotId, objectKey, versionId }: CheckedObject,
  seconds: number,
): Promise<void> {
  await db.query({
    name: "defer-save-check",
    text: "UPDATE save_versions SET check_due_at = now() + make_interval(secs => $3) WHERE slot_id = $1 AND (object_key = $2 OR id = $4)",
    values: [slotId, objectKey, seconds, versionId],
  });
}

/** A missing or damaged version with its player and slot; both are null for a deleted slot. */
export interface UnreadableSave {
  email: string | null;
  slug: string | null;
  slotNumber: number | null;
  versionId: string;
  objectKey: string;
  unreadableAt: Date;
}

/** Returns at most `limit` missing or damaged versions, latest finds first. */
export async function listUnreadable(db: Queryable, limit: number): Promise<UnreadableSave[]> {
  const { rows } = await db.query<UnreadableSave>({
    name: "list-unreadable-saves",
    text: `SELECT u.email, g.slug, s.number AS "slotNumber", v.id AS "versionId", v.object_key AS "objectKey", v.unreadable_at AS "unreadableAt"
      FROM save_versions v LEFT JOIN save_slots s ON s.id = v.slot_id LEFT JOIN users u ON u.id = s.user_id LEFT JOIN games g ON g.id = s.game_id
      WHERE v.unreadable_at IS NOT NULL ORDER BY v.unreadable_at DESC, v.id LIMIT $1`,
    values: [limit],
  });
  return rows;
}

/** Returns the number of kept versions that are missing or damaged. */
export async function countUnreadable(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: "count-unreadable-saves",
    text: "SELECT count(*)::int AS count FROM save_versions WHERE unreadable_at IS NOT NULL",
  });
  return rows[0]?.count ?? 0;
}
