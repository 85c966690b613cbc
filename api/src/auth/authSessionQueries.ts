import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { SignInPlace } from "./signInPlace.ts";

/** A sign-in about to be stored. */
export interface NewAuthSessionRow {
  id: string;
  userId: string;
  startedAt: Date;
  place: SignInPlace | undefined;
}

/** An active sign-in. */
export interface AuthSessionRow {
  id: string;
  startedAt: Date;
  /** Accurate to a few minutes. */
  lastUsedAt: Date;
  device: string | null;
  ipPrefix: string | null;
}

/**
 * Stores a sign-in of the user with the given start time. Returns false if the account has been disabled or
 * deleted or, with `checkedHash`, has another password hash. A password change or a disable updates the
 * user's row before it revokes the existing sign-ins; the row lock orders it before or after this statement.
 */
export async function insertAuthSessionIfUnchanged(
  db: Queryable,
  { id, userId, startedAt, place }: NewAuthSessionRow,
  checkedHash: string | undefined,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "begin-auth-session",
    text: `INSERT INTO auth_sessions (id, user_id, created_at, device, ip_prefix)
           SELECT $1::text, u.id, $3::timestamptz, $4::text, $5::text FROM users u
           WHERE u.id = $2 AND u.disabled_at IS NULL AND ($6::text IS NULL OR u.password_hash = $6) FOR SHARE`,
    values: [id, userId, startedAt, place?.device ?? null, place?.ipPrefix ?? null, checkedHash ?? null],
  });
  return rowCount === 1;
}

/** Inserts a sign-in with the given start time. The transaction revokes the ones that it replaces. */
export async function insertAuthSession(
  transaction: Queryable,
  { id, userId, startedAt, place }: NewAuthSessionRow,
): Promise<void> {
  await transaction.query({
    name: "insert-auth-session",
    text: "INSERT INTO auth_sessions (id, user_id, created_at, device, ip_prefix) VALUES ($1, $2, $3, $4, $5)",
    values: [id, userId, startedAt, place?.device ?? null, place?.ipPrefix ?? null],
  });
}

/**
 * Returns the start of the user's sign-in in whole seconds of the epoch; undefined when it is revoked or the
 * user is disabled. Also records the time and place of its use, at most once every few minutes.
 */
export async function updateAuthSessionSeen(
  db: Queryable,
  id: string,
  userId: string,
  place: SignInPlace | undefined,
): Promise<number | undefined> {
  const {
    rows: [row],
  } = await db.query<{ startedAt: number }>({
    name: "touch-auth-session",
    text: `WITH seen AS (
             UPDATE auth_sessions SET last_seen_at = now(), device = coalesce($3, device), ip_prefix = coalesce($4, ip_prefix)
             WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL AND last_seen_at < now() - make_interval(secs => $5))
           SELECT floor(extract(epoch FROM s.created_at))::float8 AS "startedAt" FROM auth_sessions s JOIN users u ON u.id = s.user_id
           WHERE s.id = $1 AND s.user_id = $2 AND s.revoked_at IS NULL AND u.disabled_at IS NULL`,
    values: [id, userId, place?.device ?? null, place?.ipPrefix ?? null, limits.auth.lastUseSeconds],
  });
  return row?.startedAt;
}

/**
 * Returns the user's sign-ins that are not revoked and were used within the last `seconds`, most recently
 * used first.
 */
export async function findAuthSessions(
  db: Queryable,
  userId: string,
  seconds: number,
): Promise<AuthSessionRow[]> {
  const { rows } = await db.query<AuthSessionRow>({
    name: "list-auth-sessions",
    text: `SELECT id, created_at AS "startedAt", last_seen_at AS "lastUsedAt", device, ip_prefix AS "ipPrefix" FROM auth_sessions
           WHERE user_id = $1 AND revoked_at IS NULL AND last_seen_at > now() - make_interval(secs => $2)
           ORDER BY last_seen_at DESC, id LIMIT ${limits.auth.signInsListed}`,
    values: [userId, seconds + limits.auth.lastUseSeconds],
  });
  return rows;
}

/** Revokes one sign-in of any user. */
export async function updateAuthSessionRevoked(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: "revoke-auth-session",
    text: "UPDATE auth_sessions SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL",
    values: [id],
  });
}

/** Revokes a sign-in of the user. Returns false if the id is unknown or already revoked. */
export async function updateOwnAuthSessionRevoked(
  db: Queryable,
  id: string,
  userId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    "UPDATE auth_sessions SET revoked_at = now() WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
    [id, userId],
  );
  return rowCount === 1;
}

/**
 * Revokes every sign-in of the user and returns the ids of those that were active: the cache must be told
 * about them after the commit.
 */
export async function updateAuthSessionsRevoked(db: Queryable, userId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    "UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL RETURNING id",
    [userId],
  );
  return rows.map(({ id }) => id);
}

/** Deletes at most `max` sign-ins that were last used more than `seconds` ago and returns their number. */
export async function deleteOldAuthSessions(db: Queryable, seconds: number, max: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "delete-old-auth-sessions",
    text: `DELETE FROM auth_sessions WHERE id IN (
        SELECT id FROM auth_sessions WHERE last_seen_at < now() - make_interval(secs => $1)
        ORDER BY last_seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    values: [seconds, max],
  });
  return rowCount ?? 0;
}
