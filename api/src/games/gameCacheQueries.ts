import type { Queryable } from "../stores/queryable.ts";
import { isVersionPlayed } from "./gameVersionQueries.ts";

/** An archive in the object store. */
export interface StoredVersion {
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
}

/** A game whose GameCache does not have the game's last change yet. */
export interface OutdatedGame {
  id: string;
  slug: string;
  isDeleted: boolean;
  revision: number;
  /** Null before the first upload. */
  current: StoredVersion | null;
  /** Other versions that sessions still play, the newest first. */
  played: StoredVersion[];
  activeSessions: number;
}

const versionJson = `json_build_object('objectKey', v.object_key, 'sha256', v.sha256,
  'sizeBytes', v.size_bytes, 'unpackedSizeBytes', v.unpacked_size_bytes)`;
/** As many as a GameCache may name. */
const playedVersionsMax = 8;

/** Locks a game with an outdated GameCache (that one, or any that nobody else has locked) and returns what the GameCache must become. */
export async function lockOutdatedGame(transaction: Queryable, gameId: string | undefined, skip: readonly string[]): Promise<OutdatedGame | undefined> {
  const { rows } = await transaction.query<OutdatedGame>({
    name: "claim-game-behind",
    text: `
      SELECT g.id, g.slug, g.deleted_at IS NOT NULL AS "isDeleted", g.cache_revision AS "revision",
        (SELECT ${versionJson} FROM game_versions v WHERE v.id = g.current_version_id) AS "current",
        (SELECT coalesce(json_agg(played.version), '[]') FROM (
          SELECT ${versionJson} AS version FROM game_versions v
          WHERE v.game_id = g.id AND v.id IS DISTINCT FROM g.current_version_id AND v.removed_at IS NULL AND ${isVersionPlayed}
          ORDER BY v.created_at DESC LIMIT ${playedVersionsMax}) AS played) AS "played",
        (SELECT count(*)::int FROM game_sessions s
          WHERE s.game_id = g.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions"
      FROM games g
      WHERE g.cache_applied_revision <> g.cache_revision AND ($1::text IS NULL OR g.id = $1) AND NOT g.id = ANY($2)
      ORDER BY g.id LIMIT 1 FOR UPDATE OF g SKIP LOCKED`,
    values: [gameId ?? null, skip],
  });
  return rows[0];
}

/** Notes that the GameCache has the game's changes up to that revision. */
export async function updateCacheApplied(transaction: Queryable, gameId: string, revision: number): Promise<void> {
  await transaction.query({
    name: "mark-cache-applied",
    text: "UPDATE games SET cache_applied_revision = $2 WHERE id = $1 AND cache_applied_revision < $2",
    values: [gameId, revision],
  });
}

/** Marks every game whose GameCache should be in the cluster and is not among `slugs` as outdated; returns their slugs. */
export async function updateLostCachesOutdated(db: Queryable, slugs: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ slug: string }>({
    name: "mark-lost-caches",
    text: `UPDATE games SET cache_revision = cache_revision + 1
      WHERE current_version_id IS NOT NULL AND deleted_at IS NULL AND cache_applied_revision = cache_revision AND slug <> ALL($1)
      RETURNING slug`,
    values: [slugs],
  });
  return rows.map(({ slug }) => slug);
}
