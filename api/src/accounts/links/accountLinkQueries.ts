import type { AccountLinkPurpose } from "#contracts/http/accountLinks.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { User } from "../../auth/userQueries.ts";

/** A link about to be stored. */
export interface NewAccountLink {
  /** Digest of the token. */
  id: string;
  purpose: AccountLinkPurpose;
  /** Normalised. */
  email: string;
  userId: string | null;
  seconds: number;
}

/** A stored link that has not expired. */
export interface AccountLinkRow {
  purpose: AccountLinkPurpose;
  email: string;
  userId: string | null;
  expiresAt: Date;
}

/** Stores a link and returns when it expires. */
export async function insertAccountLink(
  db: Queryable,
  { id, purpose, email, userId, seconds }: NewAccountLink,
): Promise<Date> {
  const {
    rows: [row],
  } = await db.query<{ expiresAt: Date }>({
    name: "insert-account-link",
    text: `INSERT INTO account_links (id, purpose, email, user_id, expires_at)
           VALUES ($1, $2::text::account_link_purpose, $3, $4, now() + make_interval(secs => $5)) RETURNING expires_at AS "expiresAt"`,
    values: [id, purpose, email, userId, seconds],
  });
  if (row === undefined) throw new Error("The new link has no row.");
  return row.expiresAt;
}

/** Deletes the address's links for this purpose. */
export async function deleteAccountLinks(
  db: Queryable,
  purpose: AccountLinkPurpose,
  email: string,
): Promise<void> {
  await db.query({
    name: "delete-account-links",
    text: "DELETE FROM account_links WHERE purpose = $1::text::account_link_purpose AND email = $2",
    values: [purpose, email],
  });
}

/** Deletes all links of the user. */
export async function deleteAccountLinksOfUser(db: Queryable, userId: string): Promise<void> {
  await db.query({
    name: "delete-account-links-of-user",
    text: "DELETE FROM account_links WHERE user_id = $1",
    values: [userId],
  });
}

/** Returns the link; undefined if it is unknown, used or expired, or if its account is disabled. */
export async function findAccountLink(db: Queryable, id: string): Promise<AccountLinkRow | undefined> {
  const {
    rows: [row],
  } = await db.query<AccountLinkRow>({
    name: "find-account-link",
    text: `SELECT l.purpose, l.email, l.user_id AS "userId", l.expires_at AS "expiresAt"
           FROM account_links l LEFT JOIN users u ON u.id = l.user_id
           WHERE l.id = $1 AND l.expires_at > now() AND u.disabled_at IS NULL`,
    values: [id],
  });
  return row;
}

/** Uses up the link and returns it; undefined if it is unknown, used or expired. */
export async function deleteAccountLink(
  transaction: Queryable,
  id: string,
  purpose: AccountLinkPurpose,
): Promise<{ email: string; userId: string | null } | undefined> {
  const {
    rows: [row],
  } = await transaction.query<{ email: string; userId: string | null }>({
    name: "use-account-link",
    text: `DELETE FROM account_links WHERE id = $1 AND purpose = $2::text::account_link_purpose AND expires_at > now()
           RETURNING email, user_id AS "userId"`,
    values: [id, purpose],
  });
  return row;
}

/**
 * Stores an account that has to be confirmed within `seconds`, or replaces one that is not confirmed yet.
 * Returns its id; undefined when the address has a confirmed account.
 */
export async function upsertUnconfirmedUser(
  transaction: Queryable,
  {
    email,
    name,
    passwordHash,
    seconds,
  }: { email: string; name: string; passwordHash: string; seconds: number },
): Promise<string | undefined> {
  const {
    rows: [row],
  } = await transaction.query<{ id: string }>({
    name: "upsert-unconfirmed-user",
    text: `INSERT INTO users (email, name, password_hash, confirm_by) VALUES ($1, $2, $3, now() + make_interval(secs => $4))
           ON CONFLICT (email) DO UPDATE SET name = excluded.name, password_hash = excluded.password_hash,
             confirm_by = excluded.confirm_by, updated_at = now() WHERE users.confirm_by IS NOT NULL
           RETURNING id`,
    values: [email, name, passwordHash, seconds],
  });
  return row?.id;
}

/** An account with its password hash. */
export interface UnconfirmedUser extends User {
  passwordHash: string | null;
}

/** Returns an account that is not confirmed yet. */
export async function findUnconfirmedUser(db: Queryable, id: string): Promise<UnconfirmedUser | undefined> {
  const {
    rows: [row],
  } = await db.query<UnconfirmedUser>({
    name: "find-unconfirmed-user",
    text: `SELECT id, email, name, image, password_hash AS "passwordHash" FROM users
           WHERE id = $1 AND confirm_by > now() AND disabled_at IS NULL`,
    values: [id],
  });
  return row;
}

/**
 * Marks the address as verified and the account as confirmed, with another password hash if one is given.
 * Returns the account; undefined if it is disabled or deleted.
 */
export async function updateUserConfirmed(
  transaction: Queryable,
  id: string,
  passwordHash: string | null,
): Promise<User | undefined> {
  const {
    rows: [row],
  } = await transaction.query<User>({
    name: "confirm-user",
    text: `UPDATE users SET confirm_by = NULL, email_verified_at = coalesce(email_verified_at, now()),
             password_hash = coalesce($2, password_hash), updated_at = now()
           WHERE id = $1 AND disabled_at IS NULL RETURNING id, email, name, image`,
    values: [id, passwordHash],
  });
  return row;
}

/** An account as a mail is about it. */
export interface AccountOfAddress {
  id: string;
  isUnconfirmed: boolean;
}

/** Returns the enabled account of a normalised address. */
export async function findAccountOfAddress(
  db: Queryable,
  email: string,
): Promise<AccountOfAddress | undefined> {
  const {
    rows: [row],
  } = await db.query<AccountOfAddress>({
    name: "find-account-of-address",
    text: `SELECT id, confirm_by IS NOT NULL AS "isUnconfirmed" FROM users WHERE email = $1 AND disabled_at IS NULL`,
    values: [email],
  });
  return row;
}

/** Deletes at most `max` expired links and returns their number. */
export async function deleteExpiredAccountLinks(db: Queryable, max: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "sweep-account-links",
    text: `DELETE FROM account_links WHERE id IN (
             SELECT id FROM account_links WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [max],
  });
  return rowCount ?? 0;
}

/** Deletes at most `max` accounts that were not confirmed in time and returns their ids. */
export async function deleteUnconfirmedUsers(db: Queryable, max: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "sweep-unconfirmed-users",
    text: `DELETE FROM users WHERE id IN (
             SELECT id FROM users WHERE confirm_by < now() ORDER BY confirm_by LIMIT $1 FOR UPDATE SKIP LOCKED)
           RETURNING id`,
    values: [max],
  });
  return rows.map(({ id }) => id);
}
