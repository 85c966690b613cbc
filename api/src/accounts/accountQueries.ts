import type { PrismaClient } from "../generated/client.ts";
import type { Queryable } from "../stores/queryable.ts";
import { findSignInMethods, type SignInMethods } from "../auth/identityQueries.ts";
import type { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { QualityRequest } from "#contracts/streamQuality.ts";

/** Returns the id of the user with a normalised e-mail address. Throws if it is unknown. */
export async function findUserIdByEmail(prisma: PrismaClient, email: string): Promise<string> {
  const { id } = await prisma.user.findUniqueOrThrow({ where: { email }, select: { id: true } });
  return id;
}

/** Returns the user with that id or normalised e-mail address; undefined if unknown. */
export async function findUserIdOf(
  prisma: PrismaClient,
  { id, email }: { id: string; email: string },
): Promise<{ id: string; email: string } | undefined> {
  return (
    (await prisma.user.findFirst({
      where: { OR: [{ id }, { email }] },
      select: { id: true, email: true },
    })) ?? undefined
  );
}

/** A user that an admin has named. */
export interface FoundUser {
  id: string;
  email: string;
}

/** Returns the users with that id, normalised address or name, in any case; at most ten. */
export async function listUsersOf(
  db: Queryable,
  { id, email, name }: { id: string; email: string; name: string | undefined },
): Promise<FoundUser[]> {
  const { rows } = await db.query<FoundUser>({
    text: `SELECT id, email FROM users WHERE id = $1 OR email = $2 OR lower(name) = lower($3)
      ORDER BY id = $1 DESC, email = $2 DESC, email LIMIT 10`,
    values: [id, email, name ?? null],
  });
  return rows;
}

/**
 * Sets the user's address and returns the former one. The address counts as verified, and the account as
 * confirmed.
 *
 * @throws a unique violation when another account has the address
 */
export async function updateUserAddress(
  transaction: Queryable,
  id: string,
  email: string,
): Promise<string | undefined> {
  const {
    rows: [row],
  } = await transaction.query<{ former: string }>(
    `WITH before AS (SELECT id, email FROM users WHERE id = $1 FOR UPDATE)
     UPDATE users u SET email = $2, email_verified_at = now(), confirm_by = NULL, updated_at = now() FROM before
     WHERE u.id = before.id RETURNING before.email AS former`,
    [id, email],
  );
  return row?.former;
}

/**
 * Locks the user with a normalised e-mail address until the transaction ends and returns the id; undefined if
 * the address is unknown.
 */
export async function lockUserByEmail(transaction: Queryable, email: string): Promise<string | undefined> {
  const {
    rows: [user],
  } = await transaction.query<{ id: string }>("SELECT id FROM users WHERE email = $1 FOR UPDATE", [email]);
  return user?.id;
}

/**
 * Stores a user with a verified address and returns the id; undefined when the address already has an
 * account. An account that was never confirmed does not count: it gets this name and password.
 */
export async function insertUser(
  db: Queryable,
  { email, name, passwordHash }: { email: string; name: string; passwordHash: string },
): Promise<string | undefined> {
  const {
    rows: [created],
  } = await db.query<{ id: string }>(
    `INSERT INTO users (email, name, password_hash, email_verified_at) VALUES ($1, $2, $3, now())
     ON CONFLICT (email) DO UPDATE SET name = excluded.name, password_hash = excluded.password_hash,
       email_verified_at = now(), confirm_by = NULL, updated_at = now() WHERE users.confirm_by IS NOT NULL
     RETURNING id`,
    [email, name, passwordHash],
  );
  return created?.id;
}

/** A user about to be imported. */
export interface ImportedUserRow {
  email: string;
  name: string;
  passwordHash: string;
  isVerified: boolean;
}

/** Stores the users whose addresses have no account, each with an audit event, and returns their number. */
export async function insertImportedUsers(db: Queryable, rows: readonly ImportedUserRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { rowCount } = await db.query(
    `WITH created AS (
       INSERT INTO users (email, name, password_hash, email_verified_at)
       SELECT email, name, hash, CASE WHEN is_verified THEN now() END
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[]) AS given (email, name, hash, is_verified)
       ON CONFLICT (email) DO NOTHING RETURNING id)
     INSERT INTO audit_events (action, actor_kind, subject_kind, subject_id, details)
     SELECT 'user.imported', 'operator', 'user', id, '{}' FROM created`,
    [
      rows.map(({ email }) => email),
      rows.map(({ name }) => name),
      rows.map(({ passwordHash }) => passwordHash),
      rows.map(({ isVerified }) => isVerified),
    ],
  );
  return rowCount ?? 0;
}

/** Locks the user until the transaction ends and returns their sign-in methods; empty for an unknown user. */
export async function lockSignInMethods(transaction: Queryable, id: string): Promise<SignInMethods> {
  await transaction.query("SELECT FROM users WHERE id = $1 FOR UPDATE", [id]);
  return findSignInMethods(transaction, id);
}

/** Deletes the user's identities at these issuers and returns their number. */
export async function deleteIdentities(
  transaction: Queryable,
  userId: string,
  issuers: readonly string[],
): Promise<number> {
  const { rowCount } = await transaction.query(
    "DELETE FROM identities WHERE user_id = $1 AND issuer = ANY($2)",
    [userId, issuers],
  );
  return rowCount ?? 0;
}

/** Sets the user's password hash. */
export async function updatePasswordHash(
  transaction: Queryable,
  id: string,
  passwordHash: string,
): Promise<void> {
  await transaction.query("UPDATE users SET password_hash = $2, updated_at = now() WHERE id = $1", [
    id,
    passwordHash,
  ]);
}

/** Disables the user's account. */
export async function updateUserDisabled(transaction: Queryable, id: string): Promise<void> {
  await transaction.query(
    "UPDATE users SET disabled_at = coalesce(disabled_at, now()), updated_at = now() WHERE id = $1",
    [id],
  );
}

/** Enables the user's account. */
export async function updateUserEnabled(transaction: Queryable, id: string): Promise<void> {
  await transaction.query("UPDATE users SET disabled_at = NULL, updated_at = now() WHERE id = $1", [id]);
}

/** Returns the id of the user's active game session; undefined without one. */
export async function findActiveGameSessionOfUser(
  transaction: Queryable,
  id: string,
): Promise<string | undefined> {
  const {
    rows: [active],
  } = await transaction.query<{ id: string }>(
    "SELECT id FROM game_sessions WHERE user_id = $1 AND status IN ('starting', 'running', 'stopping')",
    [id],
  );
  return active?.id;
}

/**
 * Sets the user's active game session to stopping and returns its id; undefined if there is none to stop. The
 * recorder then stops it in the cluster. The queue ends one that waits there.
 */
export async function updateActiveGameSessionStopping(
  transaction: Queryable,
  id: string,
  reason: StopReason,
): Promise<string | undefined> {
  const {
    rows: [stopping],
  } = await transaction.query<{ id: string }>(
    `UPDATE game_sessions SET status = 'stopping', stop_reason = $2, stopping_at = now()
     WHERE user_id = $1 AND status IN ('starting', 'running') AND queue_number IS NULL RETURNING id`,
    [id, reason],
  );
  return stopping?.id;
}

/** Deletes the stored responses of the user's idempotency keys. */
export async function deleteIdempotencyKeysOfUser(transaction: Queryable, id: string): Promise<void> {
  await transaction.query("DELETE FROM idempotency_keys WHERE principal = $1", [`user:${id}`]);
}

/** Deletes the user's row and, by cascade, all rows that reference it. */
export async function deleteUserById(transaction: Queryable, id: string): Promise<void> {
  await transaction.query("DELETE FROM users WHERE id = $1", [id]);
}

/**
 * Parses a stored quality choice; empty (the site's default) without one, or for a choice that this release
 * does not know.
 */
export function readKeptQuality(stored: unknown): QualityRequest {
  return QualityRequest.safeParse(stored).data ?? {};
}

/** Returns the player's stored quality choice. */
export async function findKeptQuality(db: Queryable, userId: string): Promise<QualityRequest> {
  const {
    rows: [user],
  } = await db.query<{ quality: unknown }>({
    name: "find-stream-quality",
    text: "SELECT stream_quality AS quality FROM users WHERE id = $1",
    values: [userId],
  });
  return readKeptQuality(user?.quality);
}

/** Stores the player's quality choice for later launches. */
export async function updateKeptQuality(
  db: Queryable,
  userId: string,
  quality: QualityRequest,
): Promise<void> {
  await db.query({
    name: "update-stream-quality",
    text: "UPDATE users SET stream_quality = $2, updated_at = now() WHERE id = $1",
    values: [userId, JSON.stringify(quality)],
  });
}
