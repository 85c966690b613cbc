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

/** A sign-in that is not over. */
export interface AuthSessionRow {
  id: string;
  startedAt: Date;
  /** Accurate to a few minutes. */
  lastUsedAt: Date;
  device: string | null;
  ipPrefix: string | null;
}

/**
 * Stores a sign-in of the user that began then, and returns true, unless the account is disabled or deleted
 * by now or, where `checkedHash` is named, has another password hash. A new password and a disabling change
 * the user's row before they revoke the sign-ins that there are: the lock makes this wait for them, and them
 * for this.
 */
export async function insertAuthSessionOfUnchanged(
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
 * Returns when the user's sign-in began, in whole seconds of the epoch; undefined when it is revoked, or its
 * user disabled. The same statement notes that the sign-in was used now, and from where; it does so at most
 * once in some minutes.
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
 * Returns the user's sign-ins that are not revoked and were used within the last `seconds`, the one used last
 * first.
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

/** Revokes one sign-in, of whatever user. */
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
 * Revokes every sign-in of the user and returns the ids of those that were not revoked before: the cache must
 * learn of them after the commit.
 */
export async function updateAuthSessionsRevoked(db: Queryable, userId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    "UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL RETURNING id",
    [userId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Deletes sign-ins that were last used more than `seconds` ago, at most `max` at a time, and returns how
 * many.
 */
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
