import type { Queryable } from "../stores/queryable.ts";
import type { SavedObject } from "./savedObject.ts";

/** A save with the slot that it belongs to: only versions of that slot name it. */
export interface CheckedObject extends SavedObject {
  slotId: string;
}

/** Notes whether an object is whole, in all versions that name it. Writes nothing where that is known. */
export async function updateObjectReadable(db: Queryable, { slotId, objectKey }: CheckedObject, isReadable: boolean): Promise<void> {
  await db.query({
    name: "note-object-readable",
    text: `UPDATE save_versions SET unreadable_at = CASE WHEN $3 THEN NULL ELSE now() END
      WHERE slot_id = $1 AND object_key = $2 AND (unreadable_at IS NULL) <> $3`,
    values: [slotId, objectKey, isReadable],
  });
}

/** Returns the object whose check is due the longest; undefined when none is. */
export async function findDueCheck(db: Queryable): Promise<CheckedObject | undefined> {
  const { rows } = await db.query<CheckedObject>({
    name: "find-due-save-check",
    text: `SELECT slot_id AS "slotId", object_key AS "objectKey", sha256, bytes::float8 AS bytes FROM save_versions WHERE check_due_at <= now() ORDER BY check_due_at LIMIT 1`,
  });
  return rows[0];
}

/** Has the object checked again after so many seconds. */
export async function updateCheckDue(db: Queryable, { slotId, objectKey }: CheckedObject, seconds: number): Promise<void> {
  await db.query({
    name: "defer-save-check",
    text: "UPDATE save_versions SET check_due_at = now() + make_interval(secs => $3) WHERE slot_id = $1 AND object_key = $2",
    values: [slotId, objectKey, seconds],
  });
}

/** Returns how many kept versions were found missing or damaged. */
export async function countUnreadable(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: "count-unreadable-saves", text: "SELECT count(*)::int AS count FROM save_versions WHERE unreadable_at IS NOT NULL",
  });
  return rows[0]?.count ?? 0;
}
