import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { VerificationState } from "../verificationQueries.ts";

/** A version of a game, as its partner sees it. */
export interface ListedVersion {
  id: string;
  label: string | null;
  notes: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
  createdAt: Date;
  isCurrent: boolean;
  /** Names of the other channels that lead to it. */
  channels: string[];
  /** Whether its archive is kept. */
  isStored: boolean;
  /** Sessions that have not ended. */
  activeSessions: number;
  /** Null for a version that was never verified. */
  verificationState: VerificationState | null;
}

const columns = `v.id, v.label, v.notes, v.sha256, v.size_bytes::float8 AS "sizeBytes", v.unpacked_size_bytes::float8 AS "unpackedSizeBytes",
  v.created_at AS "createdAt", v.id IS NOT DISTINCT FROM g.current_version_id AS "isCurrent",
  ARRAY(SELECT c.name FROM game_channels c WHERE c.version_id = v.id ORDER BY c.name) AS channels,
  num_nonnulls(v.removing_at, v.removed_at) = 0 AS "isStored",
  (SELECT count(*)::int FROM game_sessions s WHERE s.version_id = v.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions",
  (SELECT f.state FROM game_verifications f WHERE f.version_id = v.id) AS "verificationState"`;

/** Returns the newest versions of a game, newest first. */
export async function listVersions(db: Queryable, gameId: string): Promise<ListedVersion[]> {
  const { rows } = await db.query<ListedVersion>({
    name: "list-versions",
    text: `SELECT ${columns} FROM game_versions v JOIN games g ON g.id = v.game_id
      WHERE v.game_id = $1 ORDER BY v.created_at DESC, v.id DESC LIMIT ${limits.partner.versionsListed}`,
    values: [gameId],
  });
  return rows;
}

/** Returns one version of a game; undefined if it is unknown. */
export async function findVersion(
  db: Queryable,
  gameId: string,
  versionId: string,
): Promise<ListedVersion | undefined> {
  const { rows } = await db.query<ListedVersion>({
    name: "find-version",
    text: `SELECT ${columns} FROM game_versions v JOIN games g ON g.id = v.game_id WHERE v.game_id = $1 AND v.id = $2`,
    values: [gameId, versionId],
  });
  return rows[0];
}
