import type { Queryable } from "../stores/queryable.ts";
import type { SavedObject } from "./savedObject.ts";

/** A save with the slot that it belongs to: only versions of that slot name it. */
export interface CheckedObject extends SavedObject {
  slotId: string;
  /** The version that was due. */
  versionId: string;
}

/** Notes whether an object is whole, in all versions that name it. Returns whether that is news. */
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

/** Returns the object whose check is due the longest; undefined when none is. */
export async function findDueCheck(db: Queryable): Promise<CheckedObject | undefined> {
  const { rows } = await db.query<CheckedObject>({
    name: "find-due-save-check",
    text: `SELECT id AS "versionId", slot_id AS "slotId", object_key AS "objectKey", sha256, bytes::float8 AS bytes FROM save_versions WHERE check_due_at <= now() ORDER BY check_due_at LIMIT 1`,
  });
  return rows[0];
}

/**
 * Has the object checked again after so many seconds, and the version that was due, which may name a newer
 * one by now: it would else stay the one that is due the longest for as long as its session plays.
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

/** A version that was found missing or damaged, and whose it is; both are null for a slot that is gone. */
export interface UnreadableSave {
  email: string | null;
  slug: string | null;
  slotNumber: number | null;
  versionId: string;
  objectKey: string;
  unreadableAt: Date;
}

/** Returns versions that were found missing or damaged, the latest finds first, at most `limit`. */
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

/** Returns how many kept versions were found missing or damaged. */
export async function countUnreadable(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: "count-unreadable-saves",
    text: "SELECT count(*)::int AS count FROM save_versions WHERE unreadable_at IS NOT NULL",
  });
  return rows[0]?.count ?? 0;
}
