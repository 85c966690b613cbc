import { limits } from "#contracts/limits.ts";
import { isEmail, normalizeEmail } from "../auth/email.ts";
import type { Passwords } from "../auth/passwords.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { requirePassword } from "./passwordRule.ts";

export interface NewUser {
  email: string;
  name: string;
  password: string;
}

/** Creates an account whose address counts as verified, for an operator vouches for it. Throws conflict with the id of the one there is. */
export async function createUser(
  { postgres, passwords, audit }: { postgres: Postgres; passwords: Passwords; audit: Audit }, { email: typed, name: typedName, password }: NewUser,
): Promise<{ id: string; email: string; name: string }> {
  const { email, name } = checkedUser(typed, typedName);
  requirePassword(password);
  const { rows } = await postgres.pool.query<{ id: string }>(
    `INSERT INTO users (email, name, password_hash, email_verified_at) VALUES ($1, $2, $3, now())
     ON CONFLICT (email) DO NOTHING RETURNING id`,
    [email, name, await passwords.hash(password)],
  );
  const [created] = rows;
  if (created === undefined) {
    const { id } = await postgres.prisma.user.findUniqueOrThrow({ where: { email }, select: { id: true } });
    throw new DomainError("conflict", { message: `There is a user ${email} already.`, extra: { id, email } });
  }
  await audit.record({ action: "user.created", actor: { kind: "operator" }, subject: { kind: "user", id: created.id } });
  return { id: created.id, email, name };
}

/** Address and name as they are stored. Throws invalid_request for what no account may have. */
export function checkedUser(typed: string, typedName: string): { email: string; name: string } {
  const email = normalizeEmail(typed);
  const name = typedName.trim();
  if (!isEmail(email)) throw invalidRequest(`${JSON.stringify(typed)} is no e-mail address.`);
  if (name === "" || name.length > limits.auth.nameMaxLength || /\p{Cc}/u.test(name)) {
    throw invalidRequest(`The name must have 1 to ${limits.auth.nameMaxLength} characters in one line.`);
  }
  return { email, name };
}
