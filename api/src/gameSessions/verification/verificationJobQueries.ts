import type { StoredVerdict } from "#contracts/http/gameVerifications.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { GameNeeds } from "../launching/launchQueries.ts";

/** A verification whose session plays. */
export interface RunningVerification {
  versionId: string;
  gameId: string;
  slug: string;
  sessionId: string;
  ageSeconds: number;
}

/** Returns whether any verification waits or runs. */
export async function hasOpenVerifications(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "has-open-verifications",
    text: "SELECT FROM game_verifications WHERE state IN ('waiting', 'running') LIMIT 1",
  });
  return rowCount === 1;
}

/** Returns the verifications whose sessions play. */
export async function listRunningVerifications(db: Queryable): Promise<RunningVerification[]> {
  const { rows } = await db.query<RunningVerification>({
    name: "list-running-verifications",
    text: `SELECT f.version_id AS "versionId", f.game_id AS "gameId", g.slug, coalesce(f.session_id, '') AS "sessionId", extract(epoch FROM now() - f.started_at)::float8 AS "ageSeconds"
      FROM game_verifications f JOIN games g ON g.id = f.game_id
      WHERE f.state = 'running' AND f.session_id IS NOT NULL ORDER BY f.started_at`,
  });
  return rows;
}

/** A verification that waits, with what its session needs. */
export interface WaitingVerification extends GameNeeds {
  versionId: string;
  slug: string;
  sha256: string;
  launcher: string;
  engineDir: string;
  network: "none" | "internet";
  saveLimitMb: number | null;
  stopGraceSeconds: number | null;
  now: Date;
}

/** Number of candidates to find one that there is room for. */
const candidatesMax = 20;

/** Locks verifications that wait: those that an activation waits for first, then the oldest. */
export async function lockWaitingVerifications(transaction: Queryable): Promise<WaitingVerification[]> {
  const { rows } = await transaction.query<WaitingVerification>({
    name: "lock-waiting-verifications",
    text: `SELECT f.version_id AS "versionId", g.slug, v.sha256, coalesce(v.launcher, g.launcher) AS launcher,
        coalesce(v.engine_dir, g.engine_dir) AS "engineDir", g.network, g.save_limit_mb AS "saveLimitMb",
        g.stop_grace_seconds AS "stopGraceSeconds", now() AS now,
        json_build_object('memoryMb', g.memory_mb, 'cpuMillicores', g.cpu_millicores, 'gpuShare', g.gpu_share,
          'pictureWidth', g.picture_width, 'pictureHeight', g.picture_height) AS "declared",
        json_build_object('cpuMillicores', g.profile_cpu_millicores, 'peakMemoryMb', g.profile_peak_memory_mb,
          'highestMemoryMb', g.profile_highest_memory_mb, 'memoryFloorMb', g.profile_memory_floor_mb) AS "profile"
      FROM game_verifications f JOIN game_versions v ON v.id = f.version_id JOIN games g ON g.id = f.game_id
      WHERE f.state = 'waiting' AND g.deleted_at IS NULL AND num_nonnulls(v.removing_at, v.removed_at) = 0
        AND g.cache_applied_revision = g.cache_revision
      ORDER BY f.is_required DESC, f.requested_at LIMIT ${candidatesMax} FOR UPDATE OF f SKIP LOCKED`,
  });
  return rows;
}

/** Records the session that plays the version. */
export async function updateVerificationStarted(
  transaction: Queryable,
  versionId: string,
  sessionId: string,
): Promise<void> {
  await transaction.query({
    name: "start-verification",
    text: "UPDATE game_verifications SET state = 'running', session_id = $2, started_at = now(), finished_at = NULL WHERE version_id = $1",
    values: [versionId, sessionId],
  });
}

/** Lets a verification wait again; `hasFailed` counts an attempt. */
export async function updateVerificationWaiting(
  db: Queryable,
  { versionId, sessionId }: Pick<RunningVerification, "versionId" | "sessionId">,
  hasFailed: boolean,
): Promise<void> {
  await db.query({
    name: "repeat-verification",
    text: `UPDATE game_verifications SET state = 'waiting', attempts = attempts + $3
      WHERE version_id = $1 AND session_id = $2 AND state = 'running'`,
    values: [versionId, sessionId, hasFailed ? 1 : 0],
  });
}

/**
 * Records the verdict. Returns whether the version waits for it to become current; undefined if the
 * verification no longer runs in this session.
 */
export async function updateVerificationJudged(
  transaction: Queryable,
  { versionId, sessionId }: Pick<RunningVerification, "versionId" | "sessionId">,
  verdict: "good" | "bad",
  stored: StoredVerdict,
): Promise<{ isRequired: boolean } | undefined> {
  const { rows } = await transaction.query<{ isRequired: boolean }>({
    name: "judge-verification",
    text: `UPDATE game_verifications SET state = $3, report = $4::jsonb, finished_at = now()
      WHERE version_id = $1 AND session_id = $2 AND state = 'running' RETURNING is_required AS "isRequired"`,
    values: [versionId, sessionId, verdict, JSON.stringify(stored)],
  });
  return rows[0];
}

/**
 * Ends verifications that failed too often or waited too long: half an hour if an activation waits for them,
 * otherwise a day. Returns their versions.
 */
export async function expireVerifications(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ versionId: string }>({
    name: "expire-verifications",
    text: `UPDATE game_verifications SET state = 'expired', finished_at = now()
      WHERE state = 'waiting' AND (attempts >= 3
        OR requested_at < now() - CASE WHEN is_required THEN interval '30 minutes' ELSE interval '1 day' END)
      RETURNING version_id AS "versionId"`,
  });
  return rows.map(({ versionId }) => versionId);
}

/** What an activation needs of a game. */
export interface GameToActivate {
  id: string;
  launcher: string;
  engineDir: string;
  currentVersionId: string | null;
}

/** Locks a game; undefined if it is deleted. */
export async function lockGameToActivate(
  transaction: Queryable,
  gameId: string,
): Promise<GameToActivate | undefined> {
  const { rows } = await transaction.query<GameToActivate>({
    name: "lock-game-to-activate",
    text: `SELECT id, launcher, engine_dir AS "engineDir", current_version_id AS "currentVersionId" FROM games
      WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`,
    values: [gameId],
  });
  return rows[0];
}
