import type { Profile } from "./oauth/profile.ts";
import type { Standing } from "./oauth/linkRule.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { User } from "./users.ts";

/** Names an account at a provider. */
export type Identity = Pick<Profile, "issuer" | "subject">;

/** Whose the identity is, and whose the address that it comes with. */
export async function findStanding(transaction: Queryable, { issuer, subject, email }: Identity & { email: string | undefined }): Promise<Pick<Standing, "owner" | "namesake">> {
  const { rows } = await transaction.query<{ id: string; isDisabled: boolean; isEmailVerified: boolean; isOwner: boolean }>({
    name: "identity.standing",
    text: `SELECT u.id, u.disabled_at IS NOT NULL AS "isDisabled", u.email_verified_at IS NOT NULL AS "isEmailVerified", true AS "isOwner"
           FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = $1 AND i.subject = $2
           UNION ALL
           SELECT u.id, u.disabled_at IS NOT NULL, u.email_verified_at IS NOT NULL, false FROM users u WHERE u.email = $3`,
    values: [issuer, subject, email ?? null],
  });
  return { owner: rows.find(({ isOwner }) => isOwner), namesake: rows.find(({ isOwner }) => !isOwner) };
}

/** How a user can sign in: with a password or not, and by accounts of these issuers. */
export async function findSignInMethods(database: Queryable, userId: string): Promise<{ hasPassword: boolean; issuers: string[] }> {
  const { rows: [row] } = await database.query<{ hasPassword: boolean; issuers: string[] }>({
    name: "identity.methods",
    text: `SELECT password_hash IS NOT NULL AS "hasPassword", ARRAY(SELECT DISTINCT issuer FROM identities WHERE user_id = u.id) AS issuers
           FROM users u WHERE id = $1`,
    values: [userId],
  });
  return row ?? { hasPassword: false, issuers: [] };
}

/** Makes the identity the user's. Breaks the unique key when somebody else was first. */
export async function insertIdentity(transaction: Queryable, { issuer, subject }: Identity, userId: string): Promise<void> {
  await transaction.query("INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)", [issuer, subject, userId]);
}

/** A user without a password, whose address a provider has verified. Breaks the unique key when somebody else was first. */
export async function insertUserOfIdentity(
  transaction: Queryable, { email, name, image }: { email: string; name: string; image: string | undefined },
): Promise<string> {
  const { rows: [row] } = await transaction.query<{ id: string }>(
    "INSERT INTO users (email, name, image, email_verified_at) VALUES ($1, $2, $3, now()) RETURNING id", [email, name, image ?? null],
  );
  if (row === undefined) throw new Error("The new user has no row.");
  return row.id;
}

/** The user of a known identity, within the transaction that found it. */
export async function readUser(transaction: Queryable, id: string): Promise<User> {
  const { rows: [user] } = await transaction.query<User>("SELECT id, email, name, image FROM users WHERE id = $1", [id]);
  if (user === undefined) throw new Error("The user of an identity is gone.");
  return user;
}
