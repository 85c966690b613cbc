import type { SaveVersionKind } from "#contracts/http/saves.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A stored save, as its slot or a version names it. */
export interface NamedSave {
  objectKey: string;
  sha256: string;
  bytes: number;
  /** Null for saves of a release that did not count it. */
  unpackedBytes: number | null;
}

/** A row of a slot's history. */
export interface SaveVersion extends NamedSave {
  id: string;
  slotId: string;
  kind: SaveVersionKind;
  /** Session that stored it; null where none did. */
  gameSession: string | null;
  generation: number;
  sequence: number;
  attempt: number;
  storedAt: Date;
  /** Null for the slot's own, and for conflict copies. */
  supersededAt: Date | null;
  unreadableAt: Date | null;
}

/**
 * Sizes come from Postgres as text unless they are made numbers that JavaScript holds exactly: no save is
 * larger than those.
 */
const columns = `id, slot_id AS "slotId", kind, game_session AS "gameSession", object_key AS "objectKey", sha256, bytes::float8 AS bytes,
  unpacked_bytes::float8 AS "unpackedBytes", generation, sequence, attempt, stored_at AS "storedAt", superseded_at AS "supersededAt",
  unreadable_at AS "unreadableAt"`;

/**
 * Returns all versions of the slots, the newest first. Players are shown those of them that `keptVersions`
 * returns.
 */
export async function listSaveVersions(db: Queryable, slotIds: readonly string[]): Promise<SaveVersion[]> {
  const { rows } = await db.query<SaveVersion>({
    name: "list-save-versions",
    text: `SELECT ${columns} FROM save_versions WHERE slot_id = ANY ($1) ORDER BY stored_at DESC, generation DESC, sequence DESC, attempt DESC`,
    values: [slotIds],
  });
  return rows;
}

/** A slot whose row is locked until its transaction ends. */
export interface LockedSlot {
  id: string;
  userId: string;
  gameId: string;
  number: number;
  generation: number;
  /** Null until there is a save. */
  objectKey: string | null;
  /** Session that owns the slot, and alone may move it; null when none does. */
  owner: string | null;
}

/**
 * Locks the slot's row: until the transaction ends nobody else moves it, and the sweeper removes none of its
 * versions. No session begins to own it either, unless `letsLaunch` allows that. Returns undefined when there
 * is no such slot. Waits for another transaction that holds it, unless `waits` is false: then it throws an
 * error of which `isLockedByAnother` is true.
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
  // Another statement: one that waited for the lock does not see the owner that it waited for.
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
export interface NewSlotVersion extends NamedSave {
  kind: "restored" | "imported";
}

/**
 * Makes a save the slot's own: stores it as a version with the slot's generation plus one, moves the slot to
 * it, and notes that the version before is superseded. Returns the version's id. The transaction has locked
 * the slot and found that no session owns it.
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
