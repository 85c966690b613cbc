import type { Queryable } from "../stores/queryable.ts";

/** A stored archive. */
export interface StoredVersion {
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
}

/** A game whose GameCache has not followed its last change. */
export interface GameBehind {
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
const isPlayed = "EXISTS (SELECT 1 FROM game_sessions s WHERE s.version_id = v.id AND s.status IN ('starting', 'running', 'stopping'))";
/** As many as a GameCache may name. */
const mostPlayed = 8;

/** Locks a game that is behind (that one, or any nobody else works at) and gives what its GameCache shall be. */
export async function claimGameBehind(transaction: Queryable, gameId: string | undefined, skip: readonly string[]): Promise<GameBehind | undefined> {
  const { rows } = await transaction.query<GameBehind>({
    name: "claim-game-behind",
    text: `
      SELECT g.id, g.slug, g.deleted_at IS NOT NULL AS "isDeleted", g.cache_revision AS "revision",
        (SELECT ${versionJson} FROM game_versions v WHERE v.id = g.current_version_id) AS "current",
        (SELECT coalesce(json_agg(played.version), '[]') FROM (
          SELECT ${versionJson} AS version FROM game_versions v
          WHERE v.game_id = g.id AND v.id IS DISTINCT FROM g.current_version_id AND v.removed_at IS NULL AND ${isPlayed}
          ORDER BY v.created_at DESC LIMIT ${mostPlayed}) AS played) AS "played",
        (SELECT count(*)::int FROM game_sessions s
          WHERE s.game_id = g.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions"
      FROM games g
      WHERE g.cache_applied_revision <> g.cache_revision AND ($1::text IS NULL OR g.id = $1) AND NOT g.id = ANY($2)
      ORDER BY g.id LIMIT 1 FOR UPDATE OF g SKIP LOCKED`,
    values: [gameId ?? null, skip],
  });
  return rows[0];
}

/** The GameCache has followed up to that revision. */
export async function markCacheApplied(transaction: Queryable, gameId: string, revision: number): Promise<void> {
  await transaction.query({
    name: "mark-cache-applied",
    text: "UPDATE games SET cache_applied_revision = $2 WHERE id = $1 AND cache_applied_revision < $2",
    values: [gameId, revision],
  });
}

/** A version that nobody needs any more. */
export interface UnusedVersion {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Locks a version that was superseded for a while and that no session plays. */
export async function claimUnusedVersion(transaction: Queryable, graceSeconds: number): Promise<UnusedVersion | undefined> {
  const { rows } = await transaction.query<UnusedVersion>({
    name: "claim-unused-version",
    text: `SELECT v.id, v.game_id AS "gameId", v.object_key AS "objectKey" FROM game_versions v
      WHERE v.superseded_at < now() - make_interval(secs => $1) AND v.removed_at IS NULL AND NOT ${isPlayed}
      LIMIT 1 FOR UPDATE SKIP LOCKED`,
    values: [graceSeconds],
  });
  return rows[0];
}

/** The version's archive is gone; its game's GameCache need not name it any longer. */
export async function markVersionRemoved(transaction: Queryable, { id, gameId }: UnusedVersion): Promise<void> {
  await transaction.query({
    name: "mark-version-removed",
    text: `WITH removed AS (UPDATE game_versions SET removed_at = now() WHERE id = $1)
      UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $2 AND deleted_at IS NULL`,
    values: [id, gameId],
  });
}

/**
 * Takes the partner's game out of the catalogue and cuts an upload under way; gives its id, undefined when there is none or, if
 * `revision` is given, when it is at another one.
 */
export async function markGameDeleted(db: Queryable, partnerId: string, slug: string, revision?: number): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>({
    name: "mark-game-deleted",
    text: `
      WITH deleted AS (
        UPDATE games SET deleted_at = now(), updated_at = now(), cache_revision = cache_revision + 1
        WHERE partner_id = $1 AND slug = $2 AND deleted_at IS NULL AND ($3::int IS NULL OR revision = $3) RETURNING id
      ), superseded AS (
        UPDATE game_versions v SET superseded_at = now() FROM deleted WHERE v.game_id = deleted.id AND v.superseded_at IS NULL
      ), cut AS (
        UPDATE game_uploads u SET abandoned_at = now() FROM deleted WHERE u.game_id = deleted.id AND u.abandoned_at IS NULL
      )
      SELECT id FROM deleted`,
    values: [partnerId, slug, revision ?? null],
  });
  return rows[0]?.id;
}
