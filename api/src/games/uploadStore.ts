import type { Queryable } from "../stores/queryable.ts";

/** An upload that is not renewed for this long was cut with its process. */
const leaseSeconds = 60;
/** How often to renew it. */
export const renewIntervalMs = 15_000;

/** An upload's place among the game's: nobody else can upload while it is held. */
export interface UploadLease {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Takes the game's one upload place, also from an upload that died; false when another upload is going on. */
export async function takeUploadLease(db: Queryable, { id, gameId, objectKey }: UploadLease): Promise<boolean> {
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

/** Keeps the place; false when it was lost: to a deletion of the game, or to another upload after a long silence. */
export async function renewUploadLease(db: Queryable, { id }: UploadLease): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "renew-upload-lease",
    text: "UPDATE game_uploads SET renewed_at = now() WHERE id = $1 AND abandoned_at IS NULL",
    values: [id],
  });
  return rowCount === 1;
}

/** Gives the place back; false when it was lost before, and then the caller must not go on. */
export async function dropUploadLease(db: Queryable, { id }: UploadLease): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "drop-upload-lease",
    text: "DELETE FROM game_uploads WHERE id = $1 AND abandoned_at IS NULL",
    values: [id],
  });
  return rowCount === 1;
}

/** Gives the place back but leaves the remains in the object store to the sweeper. */
export async function abandonUpload(db: Queryable, { id }: UploadLease): Promise<void> {
  await db.query({
    name: "abandon-upload",
    text: "UPDATE game_uploads SET abandoned_at = COALESCE(abandoned_at, now()) WHERE id = $1",
    values: [id],
  });
}

/** Locks an upload whose remains are to be removed; the caller deletes the row when they are. */
export async function claimDeadUpload(transaction: Queryable): Promise<UploadLease | undefined> {
  const { rows } = await transaction.query<UploadLease>({
    name: "claim-dead-upload",
    text: `SELECT id, game_id AS "gameId", object_key AS "objectKey" FROM game_uploads
      WHERE renewed_at < now() - make_interval(secs => ${leaseSeconds}) ORDER BY renewed_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  });
  return rows[0];
}

/** Takes the upload off the list, within the transaction that stores its version. */
export async function deleteUpload(transaction: Queryable, { id }: UploadLease): Promise<void> {
  await transaction.query({ name: "delete-upload", text: "DELETE FROM game_uploads WHERE id = $1", values: [id] });
}

/** What an accepted archive turned out to be. */
export interface NewVersion {
  id: string;
  gameId: string;
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
  rootFiles: string[];
  rootDirectories: string[];
}

/** The game as the archive was judged for it. */
export interface JudgedGame {
  id: string;
  launcher: string;
  engineDir: string;
}

/** Its revision if the game still is what the archive was judged for; locks it, which is the lock that launches share. */
export async function lockJudgedGame(transaction: Queryable, { id, launcher, engineDir }: JudgedGame): Promise<number | undefined> {
  const { rows } = await transaction.query<{ revision: number }>({
    name: "lock-judged-game",
    text: "SELECT revision FROM games WHERE id = $1 AND deleted_at IS NULL AND launcher = $2 AND engine_dir = $3 FOR UPDATE",
    values: [id, launcher, engineDir],
  });
  return rows[0]?.revision;
}

/** Digest of the game's current archive. */
export async function currentDigest(db: Queryable, gameId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ sha256: string }>({
    name: "current-digest",
    text: "SELECT v.sha256 FROM games g JOIN game_versions v ON v.id = g.current_version_id WHERE g.id = $1",
    values: [gameId],
  });
  return rows[0]?.sha256;
}

/** Makes the version the current one of its (locked) game. Sessions keep the version they started with. */
export async function switchVersion(transaction: Queryable, version: NewVersion): Promise<void> {
  await transaction.query({
    name: "insert-version",
    text: `INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes, root_files, root_directories)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      version.id, version.gameId, version.objectKey, version.sha256, version.sizeBytes, version.unpackedSizeBytes,
      version.rootFiles, version.rootDirectories,
    ],
  });
  await transaction.query({
    name: "switch-version",
    text: `WITH superseded AS (
        UPDATE game_versions SET superseded_at = now() WHERE game_id = $1 AND id <> $2 AND superseded_at IS NULL)
      UPDATE games SET current_version_id = $2, status = 'active', cache_revision = cache_revision + 1, updated_at = now() WHERE id = $1`,
    values: [version.gameId, version.id],
  });
}
