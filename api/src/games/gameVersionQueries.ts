import type { Queryable } from "../stores/queryable.ts";

/** SQL condition: an active session plays the version `v`. */
const isVersionPlayed =
  "EXISTS (SELECT 1 FROM game_sessions s WHERE s.version_id = v.id AND s.status IN ('starting', 'running', 'stopping'))";

/** A game's current archive as stored. */
interface CurrentVersion {
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  /** Database time, right after the object store confirmed the archive. */
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

/** The launcher and the engine folder that the game's archive was checked against. */
interface CheckedGame {
  id: string;
  launcher: string;
  engineDir: string;
}

/**
 * Takes the game's lock, which launches share, and returns the revision; undefined when the game no longer
 * matches the checked archive.
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
interface NewVersion {
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
interface UnusedVersion {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Retention of versions. */
interface VersionRetention {
  /** Retention after the version was superseded. */
  graceSeconds: number;
  /** Retention after the deletion of the game, plus an hour for restorations in progress. */
  deletedDays: number;
  except: readonly string[];
}

/**
 * Returns a version that no session plays and that was superseded more than `graceSeconds` ago, or whose game
 * was deleted more than `deletedDays` ago. Skips the ids in `except`; undefined when no version is due.
 */
export async function findUnusedVersion(
  db: Queryable,
  { graceSeconds, deletedDays, except }: VersionRetention,
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

/** Records that the version's archive is removed and that its GameCache must no longer name it. */
export async function updateVersionRemoved(db: Queryable, { id, gameId }: UnusedVersion): Promise<void> {
  await db.query({
    name: "mark-version-removed",
    text: `WITH removed AS (UPDATE game_versions SET removed_at = now() WHERE id = $1)
      UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $2 AND deleted_at IS NULL`,
    values: [id, gameId],
  });
}

/** An archive in the object store. */
export interface StoredVersion {
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
}

/** A game whose GameCache does not yet have the game's last change. */
export interface OutdatedGame {
  id: string;
  slug: string;
  isDeleted: boolean;
  revision: number;
  /** Null before the first upload. */
  current: StoredVersion | null;
  /** Other versions that sessions still play, newest first. */
  played: StoredVersion[];
  activeSessions: number;
}

const versionJson = `json_build_object('objectKey', v.object_key, 'sha256', v.sha256,
  'sizeBytes', v.size_bytes, 'unpackedSizeBytes', v.unpacked_size_bytes)`;
/** Maximum number that a GameCache can name. */
const playedVersionsMax = 8;

/**
 * First number of these advisory locks, an arbitrary constant shared by all replicas. The second is the
 * game's.
 */
const lockClass = 726_401;
/** Number of candidates to find one that no other process is updating. */
const candidatesMax = 100;

/**
 * Claims an outdated GameCache (of the given game, or any unclaimed one) until the transaction ends, and
 * returns the game's id. Read the desired state with a separate statement, because this one sees the games as
 * of before the lock.
 */
export async function lockOutdatedGame(
  transaction: Queryable,
  gameId: string | undefined,
  skip: readonly string[],
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>({
    name: "claim-game-behind",
    text: `
      WITH outdated AS MATERIALIZED (
        SELECT id FROM games WHERE cache_applied_revision <> cache_revision AND ($1::text IS NULL OR id = $1) AND NOT id = ANY($2)
        ORDER BY id LIMIT ${candidatesMax})
      SELECT id FROM outdated WHERE pg_try_advisory_xact_lock(${lockClass}, hashtext(id)) LIMIT 1`,
    values: [gameId ?? null, skip],
  });
  return rows[0]?.id;
}

/** Returns the desired state of the game's GameCache; undefined when it is already up to date. */
export async function findOutdatedGame(db: Queryable, gameId: string): Promise<OutdatedGame | undefined> {
  const { rows } = await db.query<OutdatedGame>({
    name: "read-game-behind",
    text: `
      SELECT g.id, g.slug, g.deleted_at IS NOT NULL AS "isDeleted", g.cache_revision AS "revision",
        (SELECT ${versionJson} FROM game_versions v WHERE v.id = g.current_version_id) AS "current",
        (SELECT coalesce(json_agg(played.version), '[]') FROM (
          SELECT ${versionJson} AS version FROM game_versions v
          WHERE v.game_id = g.id AND v.id IS DISTINCT FROM g.current_version_id AND v.removed_at IS NULL AND ${isVersionPlayed}
          ORDER BY v.created_at DESC LIMIT ${playedVersionsMax}) AS played) AS "played",
        (SELECT count(*)::int FROM game_sessions s
          WHERE s.game_id = g.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions"
      FROM games g WHERE g.id = $1 AND g.cache_applied_revision <> g.cache_revision`,
    values: [gameId],
  });
  return rows[0];
}

/** Records that the GameCache is up to date with that revision. */
export async function updateCacheApplied(
  transaction: Queryable,
  gameId: string,
  revision: number,
): Promise<void> {
  await transaction.query({
    name: "mark-cache-applied",
    text: "UPDATE games SET cache_applied_revision = $2 WHERE id = $1 AND cache_applied_revision < $2",
    values: [gameId, revision],
  });
}

/** A GameCache in the cluster. */
export interface ClusterGameCache {
  slug: string;
  /** Digest of its current archive. */
  objectKey: string;
  isDeleting: boolean;
}

/**
 * Marks games as outdated whose GameCache does not match the database: it is missing, has another archive
 * than the current version, or exists although the game is deleted. Returns their slugs. A GameCache with an
 * unknown archive was not created from the database; it is ignored for deleted games and games without a
 * version.
 */
export async function updateLostCachesOutdated(
  db: Queryable,
  caches: readonly ClusterGameCache[],
): Promise<string[]> {
  const { rows } = await db.query<{ slug: string }>({
    name: "mark-lost-caches",
    text: `
      WITH lost AS (
        SELECT g.id FROM games g
        LEFT JOIN (unnest($1::text[], $2::text[], $3::boolean[]) AS cache (slug, object_key, is_deleting)
          JOIN game_versions named ON named.object_key = cache.object_key) ON cache.slug = g.slug AND named.game_id = g.id
        WHERE CASE WHEN g.deleted_at IS NULL THEN g.current_version_id IS NOT NULL AND named.id IS DISTINCT FROM g.current_version_id
          ELSE named.id IS NOT NULL AND NOT cache.is_deleting END)
      UPDATE games SET cache_revision = cache_revision + 1 FROM lost
      WHERE games.id = lost.id AND cache_applied_revision = cache_revision
      RETURNING slug`,
    values: [
      caches.map(({ slug }) => slug),
      caches.map(({ objectKey }) => objectKey),
      caches.map(({ isDeleting }) => isDeleting),
    ],
  });
  return rows.map(({ slug }) => slug);
}
