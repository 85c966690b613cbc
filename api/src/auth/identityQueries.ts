import type { Profile } from "./oauth/profile.ts";
import type { IdentityContext } from "./oauth/resolveIdentity.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { User } from "./userQueries.ts";

/** Identifies an account at a provider. */
export type Identity = Pick<Profile, "issuer" | "subject">;

/** Returns the user that the identity is linked to, and the user with its e-mail address. */
export async function findIdentityUsers(
  transaction: Queryable,
  { issuer, subject, email }: Identity & { email: string | undefined },
): Promise<Pick<IdentityContext, "owner" | "userWithSameEmail">> {
  const { rows } = await transaction.query<{
    id: string;
    isDisabled: boolean;
    isEmailVerified: boolean;
    isOwner: boolean;
  }>({
    name: "find-identity-users",
    text: `SELECT u.id, u.disabled_at IS NOT NULL AS "isDisabled", u.email_verified_at IS NOT NULL AS "isEmailVerified", true AS "isOwner"
           FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = $1 AND i.subject = $2
           UNION ALL
           SELECT u.id, u.disabled_at IS NOT NULL, u.email_verified_at IS NOT NULL, false FROM users u WHERE u.email = $3`,
    values: [issuer, subject, email ?? null],
  });
  return {
    owner: rows.find(({ isOwner }) => isOwner),
    userWithSameEmail: rows.find(({ isOwner }) => !isOwner),
  };
}

/**
 * Deletes an account with this address that was never confirmed. The provider has verified the address, so
 * its owner must not be kept out by somebody else who signed up with it.
 */
export async function deleteUnconfirmedUserOf(transaction: Queryable, email: string): Promise<void> {
  await transaction.query({
    name: "delete-unconfirmed-user",
    text: "DELETE FROM users WHERE email = $1 AND confirm_by IS NOT NULL",
    values: [email],
  });
}

/** Sign-in methods of a user: a password, and accounts at issuers. */
export interface SignInMethods {
  hasPassword: boolean;
  issuers: string[];
}

/** Returns the user's sign-in methods; empty for an unknown user. */
export async function findSignInMethods(db: Queryable, userId: string): Promise<SignInMethods> {
  const {
    rows: [row],
  } = await db.query<SignInMethods>({
    name: "find-sign-in-methods",
    text: `SELECT password_hash IS NOT NULL AS "hasPassword", ARRAY(SELECT DISTINCT issuer FROM identities WHERE user_id = u.id) AS issuers
           FROM users u WHERE id = $1`,
    values: [userId],
  });
  return row ?? { hasPassword: false, issuers: [] };
}

/**
 * Links the identity to the user.
 *
 * @throws a unique violation when the identity was linked concurrently
 */
export async function insertIdentity(
  transaction: Queryable,
  { issuer, subject }: Identity,
  userId: string,
): Promise<void> {
  await transaction.query("INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)", [
    issuer,
    subject,
    userId,
  ]);
}

/**
 * Inserts a user without a password and returns the id. `isProven` marks the address as verified.
 *
 * @throws a unique violation when the address was registered concurrently
 */
export async function insertUserOfIdentity(
  transaction: Queryable,
  {
    email,
    isProven,
    name,
    image,
  }: { email: string; isProven: boolean; name: string; image: string | undefined },
): Promise<string> {
  const {
    rows: [row],
  } = await transaction.query<{ id: string }>(
    "INSERT INTO users (email, name, image, email_verified_at) VALUES ($1, $2, $3, CASE WHEN $4::boolean THEN now() END) RETURNING id",
    [email, name, image ?? null, isProven],
  );
  if (row === undefined) throw new Error("The new user has no row.");
  return row.id;
}

/** Returns the user of a known identity, within the transaction that found it. Throws if it is unknown. */
export async function findUserOfIdentity(transaction: Queryable, id: string): Promise<User> {
  const {
    rows: [user],
  } = await transaction.query<User>("SELECT id, email, name, image FROM users WHERE id = $1", [id]);
  if (user === undefined) throw new Error("The user of an identity is gone.");
  return user;
}
