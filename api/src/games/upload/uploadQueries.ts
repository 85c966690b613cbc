import type { Queryable } from "../../stores/queryable.ts";

/** An upload whose lease is not renewed for this long has died with its process. */
const leaseSeconds = 60;
/** Longest interval between renewals of a lease, in milliseconds. */
export const renewIntervalMaxMs = 15_000;

/** The right to upload an archive of the game. Only one upload at a time has it. */
export interface UploadLease {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Takes the game's only upload lease, also from a dead upload; false when another upload has it. */
export async function insertUploadLease(
  db: Queryable,
  { id, gameId, objectKey }: UploadLease,
): Promise<boolean> {
  await db.query({
    name: "abandon-dead-upload",
    text: `UPDATE game_uploads SET abandoned_at = now()
      WHERE game_id = $1 AND abandoned_at IS NULL AND renewed_at < now() - make_interval(secs => ${leaseSeconds})`,
    values: [gameId],
  });
  const { rowCount } = await db.query({
    name: "take-upload-lease",
    text: `INSERT INTO game_uploads (id, game_id, object_key) VALUES ($1, $2, $3)
      ON CONFLICT (game_id) WHERE abandoned_at IS NULL DO NOTHING`,
    values: [id, gameId, objectKey],
  });
  return rowCount === 1;
}

/**
 * Renews the lease; false when it was lost because the game was deleted, or to another upload after it
 * expired.
 */
export async function updateUploadLease(db: Queryable, { id }: UploadLease): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "renew-upload-lease",
    text: "UPDATE game_uploads SET renewed_at = now() WHERE id = $1 AND abandoned_at IS NULL",
    values: [id],
  });
  return rowCount === 1;
}

/** Releases the lease; false when it was already lost, in which case the caller must stop. */
export async function deleteUploadLease(db: Queryable, { id }: UploadLease): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "drop-upload-lease",
    text: "DELETE FROM game_uploads WHERE id = $1 AND abandoned_at IS NULL",
    values: [id],
  });
  return rowCount === 1;
}

/** Releases the lease and leaves the stored data to the sweeper. */
export async function updateUploadAbandoned(db: Queryable, { id }: UploadLease): Promise<void> {
  await db.query({
    name: "abandon-upload",
    text: "UPDATE game_uploads SET abandoned_at = COALESCE(abandoned_at, now()) WHERE id = $1",
    values: [id],
  });
}

/**
 * Abandons an upload whose lease has expired and returns it. Skips the ids in `except`; undefined when no
 * lease has expired. The upload can then neither renew its lease nor become current, so the caller can remove
 * its objects and then its row.
 */
export async function claimDeadUpload(
  db: Queryable,
  except: readonly string[],
): Promise<UploadLease | undefined> {
  const { rows } = await db.query<UploadLease>({
    name: "claim-dead-upload",
    text: `UPDATE game_uploads SET abandoned_at = COALESCE(abandoned_at, now())
      WHERE id = (SELECT id FROM game_uploads
        WHERE renewed_at < now() - make_interval(secs => ${leaseSeconds}) AND id <> ALL ($1::text[]) ORDER BY renewed_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, game_id AS "gameId", object_key AS "objectKey"`,
    values: [except],
  });
  return rows[0];
}

/** Deletes the row of an upload. */
export async function deleteUpload(db: Queryable, { id }: UploadLease): Promise<void> {
  await db.query({ name: "delete-upload", text: "DELETE FROM game_uploads WHERE id = $1", values: [id] });
}
