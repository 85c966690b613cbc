import type { Queryable } from "../stores/queryable.ts";

/** The picture of a save. */
interface SavePicture {
  slotId: string;
  /** Key of the save, not of the picture. */
  objectKey: string;
  bytes: number;
}

/** What a player sees of a version beside its row. */
export interface VersionDetails {
  id: string;
  /** How long the slot had been played when the version was stored, in seconds. */
  playSeconds: number;
  /** Size of the picture; null for a version without one. */
  pictureBytes: number | null;
}

/** Returns play time and picture of all versions of the slots. */
export async function listVersionDetails(
  db: Queryable,
  slotIds: readonly string[],
): Promise<VersionDetails[]> {
  const { rows } = await db.query<VersionDetails>({
    name: "list-version-details",
    text: `SELECT v.id, p.bytes AS "pictureBytes", coalesce(slot.prior_play_seconds, 0) + (
        SELECT coalesce(sum(least(s.duration_seconds, extract(epoch FROM v.stored_at - s.ready_at)::float8)), 0)
          FROM game_sessions s WHERE s.slot_id = v.slot_id AND s.ready_at < v.stored_at
      ) AS "playSeconds"
      FROM save_versions v LEFT JOIN save_slots slot ON slot.id = v.slot_id LEFT JOIN save_pictures p ON p.object_key = v.object_key
      WHERE v.slot_id = ANY ($1)`,
    values: [slotIds],
  });
  return rows;
}

/** Records that a save has a picture. Idempotent. */
export async function insertSavePicture(
  db: Queryable,
  { objectKey, slotId, bytes }: SavePicture,
): Promise<void> {
  await db.query({
    name: "insert-save-picture",
    text: "INSERT INTO save_pictures (object_key, slot_id, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    values: [objectKey, slotId, bytes],
  });
}

/** Deletes the rows of a slot's pictures whose saves have been unreferenced for an hour. */
export async function deleteUnusedPictures(db: Queryable, slotId: string): Promise<void> {
  await db.query({
    name: "delete-unused-save-pictures",
    text: `DELETE FROM save_pictures p WHERE p.slot_id = $1 AND p.stored_at < now() - interval '1 hour'
      AND NOT EXISTS (SELECT FROM save_versions v WHERE v.slot_id = $1 AND v.object_key = p.object_key)
      AND NOT EXISTS (SELECT FROM save_slots s WHERE s.id = $1 AND s.object_key = p.object_key)`,
    values: [slotId],
  });
}
