import type { Queryable } from "../stores/queryable.ts";
import { isVersionPlayed } from "./gameVersionQueries.ts";
import { isBeingVerified } from "./verificationQueries.ts";

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
  /**
   * Other kept versions, newest first: at least those that sessions play or channels lead to, then those that
   * are being verified.
   */
  previous: StoredVersion[];
  activeSessions: number;
}

const versionJson = `json_build_object('objectKey', v.object_key, 'sha256', v.sha256,
  'sizeBytes', v.size_bytes, 'unpackedSizeBytes', v.unpacked_size_bytes)`;
/**
 * SQL expression: the version of the game `g` that its GameCache asks nodes to hold, which is the current one
 * or, before the first activation, that of a channel or one that is being verified.
 */
const sourceVersion =
  "coalesce(g.current_version_id, (SELECT c.version_id FROM game_channels c WHERE c.game_id = g.id ORDER BY c.name LIMIT 1), (SELECT f.version_id FROM game_verifications f WHERE f.game_id = g.id AND f.state IN ('waiting', 'running') ORDER BY f.requested_at DESC LIMIT 1))";
/** SQL condition: a channel leads to the version `v`. */
const isInChannel = "EXISTS (SELECT FROM game_channels c WHERE c.version_id = v.id)";

/** Maximum number that a GameCache can name. */
const previousVersionsMax = 8;

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
        (SELECT ${versionJson} FROM game_versions v WHERE v.id = ${sourceVersion}) AS "current",
        (SELECT coalesce(json_agg(previous.version ORDER BY previous.created_at DESC), '[]') FROM (
          SELECT ${versionJson} AS version, v.created_at FROM game_versions v
          WHERE v.game_id = g.id AND v.id IS DISTINCT FROM ${sourceVersion} AND v.removed_at IS NULL
            AND (v.removing_at IS NULL OR ${isVersionPlayed})
          ORDER BY (${isVersionPlayed} OR ${isInChannel}) DESC, ${isBeingVerified} DESC, v.created_at DESC LIMIT ${previousVersionsMax}) AS previous) AS "previous",
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
        WHERE CASE WHEN g.deleted_at IS NULL THEN ${sourceVersion} IS NOT NULL AND named.id IS DISTINCT FROM ${sourceVersion}
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
