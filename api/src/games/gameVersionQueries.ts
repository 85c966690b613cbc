import type { Queryable } from "../stores/queryable.ts";

/** SQL that is true while an active session plays the version `v`. */
export const isVersionPlayed =
  "EXISTS (SELECT 1 FROM game_sessions s WHERE s.version_id = v.id AND s.status IN ('starting', 'running', 'stopping'))";

/** A game's current archive, as it was stored. */
export interface CurrentVersion {
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  /** By the database's clock, right after the object store had it. */
  createdAt: Date;
}

/** Returns the game's current archive; undefined before the first upload. */
export async function findCurrentVersion(db: Queryable, gameId: string): Promise<CurrentVersion | undefined> {
  const { rows } = await db.query<CurrentVersion>({
    name: "current-version",
    text: `SELECT v.object_key AS "objectKey", v.sha256, v.size_bytes::float8 AS "sizeBytes", v.created_at AS "createdAt"
      FROM games g JOIN game_versions v ON v.id = g.current_version_id WHERE g.id = $1`,
    values: [gameId],
  });
  return rows[0];
}

/** The launcher and the engine folder of a game, which its archive was checked for. */
export interface CheckedGame {
  id: string;
  launcher: string;
  engineDir: string;
}

/**
 * Locks the game, with the lock that launches share, and returns its revision; undefined when it is not what
 * the archive was checked for any more.
 */
export async function lockCheckedGame(
  transaction: Queryable,
  { id, launcher, engineDir }: CheckedGame,
): Promise<number | undefined> {
  const { rows } = await transaction.query<{ revision: number }>({
    name: "lock-checked-game",
    text: "SELECT revision FROM games WHERE id = $1 AND deleted_at IS NULL AND launcher = $2 AND engine_dir = $3 FOR UPDATE",
    values: [id, launcher, engineDir],
  });
  return rows[0]?.revision;
}

/** A version about to be stored. */
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

/**
 * Stores the version and makes it the current one of its (locked) game. Sessions keep the version they
 * started with.
 */
export async function insertCurrentVersion(transaction: Queryable, version: NewVersion): Promise<void> {
  await transaction.query({
    name: "insert-version",
    text: `INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes, root_files, root_directories)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      version.id,
      version.gameId,
      version.objectKey,
      version.sha256,
      version.sizeBytes,
      version.unpackedSizeBytes,
      version.rootFiles,
      version.rootDirectories,
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

/** A version that is neither current nor played. */
export interface UnusedVersion {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Which versions are not to be removed yet. */
export interface VersionReprieve {
  /** After it was superseded. */
  graceSeconds: number;
  /** After its game was deleted, and an hour more: a restoration that began before may still be under way. */
  deletedDays: number;
  except: readonly string[];
}

/**
 * Returns a version that was superseded more than `graceSeconds` ago, or that is a game's that was deleted
 * more than `deletedDays` ago, and that no session plays, and none of these; undefined when there is none.
 */
export async function findUnusedVersion(
  db: Queryable,
  { graceSeconds, deletedDays, except }: VersionReprieve,
): Promise<UnusedVersion | undefined> {
  const { rows } = await db.query<UnusedVersion>({
    name: "find-unused-version",
    text: `SELECT v.id, v.game_id AS "gameId", v.object_key AS "objectKey" FROM game_versions v
      WHERE v.superseded_at < now() - make_interval(secs => $1) AND v.removed_at IS NULL AND NOT ${isVersionPlayed}
        AND NOT EXISTS (SELECT FROM games g WHERE g.current_version_id = v.id AND g.deleted_at > now() - make_interval(days => $2::int, hours => 1))
        AND v.id <> ALL ($3::text[])
      LIMIT 1`,
    values: [graceSeconds, deletedDays, except],
  });
  return rows[0];
}

/** Notes that the version's archive is removed, and that its game's GameCache must not name it any longer. */
export async function updateVersionRemoved(db: Queryable, { id, gameId }: UnusedVersion): Promise<void> {
  await db.query({
    name: "mark-version-removed",
    text: `WITH removed AS (UPDATE game_versions SET removed_at = now() WHERE id = $1)
      UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $2 AND deleted_at IS NULL`,
    values: [id, gameId],
  });
}
