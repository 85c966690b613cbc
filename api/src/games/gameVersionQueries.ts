import { defaultChannel } from "#contracts/http/gameChannels.ts";
import type { Queryable } from "../stores/queryable.ts";
import { isBeingVerified, type VerifyMode } from "./verificationQueries.ts";
import { recordWebhookEvent } from "../webhooks/eventQueries.ts";

/** SQL condition: an active session plays the version `v`. */
export const isVersionPlayed =
  "EXISTS (SELECT 1 FROM game_sessions s WHERE s.version_id = v.id AND s.status IN ('starting', 'running', 'stopping'))";

/** A version whose archive is kept. */
interface KeptVersion {
  id: string;
  objectKey: string;
  sizeBytes: number;
  /** Database time, right after the object store confirmed the archive. */
  createdAt: Date;
}

/** Returns the game's newest kept version with this digest. */
export async function findKeptVersion(
  db: Queryable,
  gameId: string,
  sha256: string,
): Promise<KeptVersion | undefined> {
  const { rows } = await db.query<KeptVersion>({
    name: "kept-version",
    text: `SELECT id, object_key AS "objectKey", size_bytes::float8 AS "sizeBytes", created_at AS "createdAt"
      FROM game_versions WHERE game_id = $1 AND sha256 = $2 AND removing_at IS NULL AND removed_at IS NULL
      ORDER BY created_at DESC, id DESC LIMIT 1`,
    values: [gameId, sha256],
  });
  return rows[0];
}

/** The launcher and the engine folder that the game's archive was checked against. */
interface CheckedGame {
  id: string;
  launcher: string;
  engineDir: string;
}

/** A locked game. */
interface LockedGame {
  revision: number;
  /** Whether its uploads become current at once. */
  autoActivate: boolean;
  /** Null for what the site does. */
  verify: VerifyMode | null;
  currentVersionId: string | null;
}

/**
 * Takes the game's lock, which launches share, and returns the game; undefined when it no longer matches the
 * checked archive.
 */
export async function lockCheckedGame(
  transaction: Queryable,
  { id, launcher, engineDir }: CheckedGame,
): Promise<LockedGame | undefined> {
  const { rows } = await transaction.query<LockedGame>({
    name: "lock-checked-game",
    text: `SELECT revision, auto_activate AS "autoActivate", verify, current_version_id AS "currentVersionId" FROM games
      WHERE id = $1 AND deleted_at IS NULL AND launcher = $2 AND engine_dir = $3 FOR UPDATE`,
    values: [id, launcher, engineDir],
  });
  return rows[0];
}

/** A version whose archive is kept, locked until the transaction ends. */
export interface LockedVersion {
  id: string;
  label: string | null;
  /** Whether its archive was removed, or is being removed. */
  isRemoved: boolean;
  /** What it was checked with; null for versions of an earlier release. */
  launcher: string | null;
  engineDir: string | null;
  rootFiles: string[];
  rootDirectories: string[];
}

/** Locks one of the game's versions, so that the sweeper cannot remove its archive; undefined if unknown. */
export async function lockVersion(
  transaction: Queryable,
  gameId: string,
  versionId: string,
): Promise<LockedVersion | undefined> {
  const { rows } = await transaction.query<LockedVersion>({
    name: "lock-version",
    text: `SELECT id, label, num_nonnulls(removing_at, removed_at) > 0 AS "isRemoved", launcher, engine_dir AS "engineDir",
        coalesce(root_files, '{}') AS "rootFiles", coalesce(root_directories, '{}') AS "rootDirectories"
      FROM game_versions WHERE game_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    values: [gameId, versionId],
  });
  return rows[0];
}

/** The archive of a version. */
interface VersionArchive {
  sha256: string;
  sizeBytes: number;
}

/** Returns digest and size of a version's archive; undefined if the version is unknown. */
export async function findVersionArchive(
  db: Queryable,
  versionId: string,
): Promise<VersionArchive | undefined> {
  const { rows } = await db.query<VersionArchive>({
    name: "find-version-archive",
    text: 'SELECT sha256, size_bytes::float8 AS "sizeBytes" FROM game_versions WHERE id = $1',
    values: [versionId],
  });
  return rows[0];
}

/** What the partner says about a version. */
export interface VersionTexts {
  label?: string | null | undefined;
  notes?: string | null | undefined;
}

/** A version about to be stored. */
interface NewVersion extends VersionTexts {
  id: string;
  gameId: string;
  objectKey: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
  rootFiles: string[];
  rootDirectories: string[];
  launcher: string;
  engineDir: string;
}

/** Stores a version of a (locked) game, which is not current yet. */
export async function insertVersion(transaction: Queryable, version: NewVersion): Promise<void> {
  await transaction.query({
    name: "insert-version",
    text: `INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes, root_files, root_directories,
        launcher, engine_dir, label, notes, superseded_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now())`,
    values: [
      version.id,
      version.gameId,
      version.objectKey,
      version.sha256,
      version.sizeBytes,
      version.unpackedSizeBytes,
      version.rootFiles,
      version.rootDirectories,
      version.launcher,
      version.engineDir,
      version.label ?? null,
      version.notes ?? "",
    ],
  });
}

/** Changes what the partner says about a version; undefined keeps a text, null clears it. */
export async function updateVersionTexts(
  db: Queryable,
  versionId: string,
  { label, notes }: VersionTexts,
): Promise<void> {
  if (label === undefined && notes === undefined) return;
  await db.query({
    name: "update-version-texts",
    text: `UPDATE game_versions SET label = CASE WHEN $2 THEN $3 ELSE label END, notes = CASE WHEN $4 THEN $5 ELSE notes END
      WHERE id = $1`,
    values: [versionId, label !== undefined, label ?? null, notes !== undefined, notes ?? ""],
  });
}

/**
 * Makes a (locked) version the current one of its (locked) game, with the launcher that it was checked with.
 * Sessions keep the version they started with. Records the event for webhooks and clears the distribution
 * marks, so it is announced again. Versions that are not newer no longer become current after a verdict.
 */
export async function updateCurrentVersion(
  transaction: Queryable,
  gameId: string,
  versionId: string,
): Promise<void> {
  await transaction.query({
    name: "switch-version",
    text: `WITH cleared AS (UPDATE game_versions SET distributed_at = NULL, distribution_failed_at = NULL WHERE id = $2),
      decided AS (UPDATE game_verifications f SET is_required = false FROM game_versions n, game_versions v
        WHERE f.game_id = $1 AND f.is_required AND v.id = f.version_id AND n.id = $2 AND (v.created_at, v.id) <= (n.created_at, n.id))
      UPDATE games g SET current_version_id = v.id, status = 'active', launcher = coalesce(v.launcher, g.launcher),
        engine_dir = coalesce(v.engine_dir, g.engine_dir), cache_revision = cache_revision + 1, updated_at = now()
      FROM game_versions v WHERE g.id = $1 AND v.id = $2`,
    values: [gameId, versionId],
  });
  await updateVersionsInUse(transaction, gameId);
  await recordWebhookEvent(transaction, gameId, {
    type: "version.activated",
    data: { gameVersionId: versionId, channel: defaultChannel },
  });
}

/**
 * Records which versions of a (locked) game nothing names any longer. The retention of the others ends when
 * they lose their place.
 */
export async function updateVersionsInUse(transaction: Queryable, gameId: string): Promise<void> {
  await transaction.query({
    name: "note-superseded-versions",
    text: `UPDATE game_versions v SET superseded_at = CASE WHEN named.is_named THEN NULL ELSE now() END
      FROM (SELECT n.id, n.id IS NOT DISTINCT FROM g.current_version_id
          OR EXISTS (SELECT FROM game_channels c WHERE c.version_id = n.id) AS is_named
        FROM games g JOIN game_versions n ON n.game_id = g.id WHERE g.id = $1) named
      WHERE v.id = named.id AND (v.superseded_at IS NULL) <> named.is_named`,
    values: [gameId],
  });
}

/** A version that is neither current nor played, nor among the newest. */
interface UnusedVersion {
  id: string;
  gameId: string;
  objectKey: string;
}

/** Retention of versions. */
interface VersionRetention {
  /** Retention after the version was superseded. */
  graceSeconds: number;
  /** Number of the newest archives of a game that are kept. */
  versionsKept: number;
  /** Retention after the deletion of the game, plus an hour for restorations in progress. */
  deletedDays: number;
  except: readonly string[];
}

/**
 * Marks a version for removal and returns it, so that it cannot become current again. Such a version is
 * played by no session, was superseded more than `graceSeconds` ago, and is not among the game's newest
 * archives; of a deleted game, only those in its channels are kept. A version whose archive was uploaded
 * again makes room for the newer one. Skips the ids in `except`; undefined when no version is due.
 */
export async function claimUnusedVersion(
  db: Queryable,
  { graceSeconds, versionsKept, deletedDays, except }: VersionRetention,
): Promise<UnusedVersion | undefined> {
  const { rows } = await db.query<UnusedVersion>({
    name: "claim-unused-version",
    // The conditions on the row itself are repeated: an activation may have committed in the meantime.
    text: `UPDATE game_versions SET removing_at = coalesce(removing_at, now())
      WHERE superseded_at < now() - make_interval(secs => $1) AND id = (
        SELECT v.id FROM game_versions v JOIN games g ON g.id = v.game_id
        WHERE v.superseded_at < now() - make_interval(secs => $1) AND v.removed_at IS NULL AND v.id <> ALL ($4::text[])
          AND (v.removing_at IS NOT NULL OR NOT ${isVersionPlayed} AND NOT ${isBeingVerified} AND CASE WHEN g.deleted_at IS NULL
            THEN EXISTS (SELECT FROM game_versions n WHERE ${isNewer} AND n.sha256 = v.sha256)
              OR (SELECT count(DISTINCT n.sha256) FROM game_versions n WHERE ${isNewer}) >= $2
            ELSE v.id IS DISTINCT FROM g.current_version_id AND NOT EXISTS (SELECT FROM game_channels c WHERE c.version_id = v.id)
              OR g.deleted_at <= now() - make_interval(days => $3::int, hours => 1) END)
        LIMIT 1)
      RETURNING id, game_id AS "gameId", object_key AS "objectKey"`,
    values: [graceSeconds, versionsKept, deletedDays, except],
  });
  return rows[0];
}

/** SQL condition: the kept version `n` was uploaded after the version `v` of the same game. */
const isNewer =
  "n.game_id = v.game_id AND n.removing_at IS NULL AND n.removed_at IS NULL AND (n.created_at, n.id) > (v.created_at, v.id)";

/** Records that the version's archive is removed and that its GameCache must no longer name it. */
export async function updateVersionRemoved(db: Queryable, { id, gameId }: UnusedVersion): Promise<void> {
  await db.query({
    name: "mark-version-removed",
    text: `WITH removed AS (UPDATE game_versions SET removed_at = now() WHERE id = $1)
      UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $2 AND deleted_at IS NULL`,
    values: [id, gameId],
  });
}
