import type { StoredVerdict } from "#contracts/http/gameVerifications.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Whether uploads are verified, and whether they wait for it to become current. */
export type VerifyMode = "off" | "report" | "require";

/** State of a verification in the database. */
export type VerificationState = "waiting" | "running" | "good" | "bad" | "expired";

/** SQL condition: the version `v` waits for its verification, or is being verified. */
export const isBeingVerified =
  "EXISTS (SELECT FROM game_verifications f WHERE f.version_id = v.id AND f.state IN ('waiting', 'running'))";

/** A version to verify. */
interface RequestedVerification {
  gameId: string;
  versionId: string;
  /** Whether the version becomes current after a good verdict. */
  isRequired: boolean;
}

/**
 * Requests a verification, and lets nodes get the version. One that waits or runs already continues. Without
 * `isAgain`, a verdict is kept, except a bad one if a good one is required.
 */
export async function requestVerification(
  transaction: Queryable,
  { gameId, versionId, isRequired }: RequestedVerification,
  isAgain: boolean,
): Promise<void> {
  await transaction.query({
    name: "request-verification",
    text: `INSERT INTO game_verifications (version_id, game_id, state, is_required) VALUES ($1, $2, 'waiting', $3)
      ON CONFLICT (version_id) DO UPDATE SET is_required = game_verifications.is_required OR excluded.is_required,
        state = CASE WHEN game_verifications.state = 'running' THEN 'running' ELSE 'waiting' END,
        requested_at = CASE WHEN game_verifications.state IN ('waiting', 'running') THEN game_verifications.requested_at ELSE now() END,
        attempts = 0
      WHERE $4 OR game_verifications.state <> ALL (CASE WHEN excluded.is_required THEN ARRAY['good'] ELSE ARRAY['good', 'bad'] END)`,
    values: [versionId, gameId, isRequired, isAgain],
  });
  await transaction.query({
    name: "note-verification-in-cache",
    text: "UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $1",
    values: [gameId],
  });
}

/** Returns whether the last verdict on the version is good. */
export async function isVerifiedGood(db: Queryable, versionId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "is-verified-good",
    text: "SELECT FROM game_verifications WHERE version_id = $1 AND state = 'good'",
    values: [versionId],
  });
  return rowCount === 1;
}

/**
 * The version, or every version of the game, no longer waits for its verification to become current: the
 * verdict, or the partner, has decided.
 */
export async function clearRequirement(db: Queryable, gameId: string, versionId?: string): Promise<void> {
  await db.query({
    name: "clear-verification-requirement",
    text: `UPDATE game_verifications SET is_required = false
      WHERE game_id = $1 AND ($2::text IS NULL OR version_id = $2) AND is_required`,
    values: [gameId, versionId],
  });
}

/** The last verification of a version. */
export interface FoundVerification {
  state: VerificationState;
  isRequired: boolean;
  sessionId: string | null;
  requestedAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** Null until there is a verdict. */
  verdict: StoredVerdict | null;
}

/** Returns the last verification of one of the game's versions; undefined if there was none. */
export async function findVerification(
  db: Queryable,
  gameId: string,
  versionId: string,
): Promise<FoundVerification | undefined> {
  const { rows } = await db.query<FoundVerification>({
    name: "find-verification",
    text: `SELECT state, is_required AS "isRequired", session_id AS "sessionId", requested_at AS "requestedAt",
        started_at AS "startedAt", finished_at AS "finishedAt", report AS verdict
      FROM game_verifications WHERE game_id = $1 AND version_id = $2`,
    values: [gameId, versionId],
  });
  return rows[0];
}
