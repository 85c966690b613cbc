import { limits } from "#contracts/limits.ts";
import { isEmail, normalizeEmail } from "../auth/email.ts";
import type { Passwords } from "../auth/passwords.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findUserIdByEmail, insertUser } from "./accountQueries.ts";
import { requirePassword } from "./passwordRule.ts";

/** An account about to be created. */
export interface NewUser {
  email: string;
  name: string;
  password: string;
}

/**
 * Creates an account whose address counts as verified, because an operator vouches for it. Throws
 * invalid_request, common_password, and conflict with the id of the account there is.
 */
export async function createUser(
  { postgres, passwords, audit }: { postgres: Postgres; passwords: Passwords; audit: Audit },
  { email: typed, name: typedName, password }: NewUser,
): Promise<{ id: string; email: string; name: string }> {
  const { email, name } = checkedUser(typed, typedName);
  await requirePassword(password);
  const id = await insertUser(postgres.pool, { email, name, passwordHash: await passwords.hash(password) });
  if (id === undefined) {
    const existing = await findUserIdByEmail(postgres.prisma, email);
    throw new DomainError("conflict", {
      message: `There is a user ${email} already.`,
      extra: { id: existing, email },
    });
  }
  await audit.record({ action: "user.created", actor: { kind: "operator" }, subject: { kind: "user", id } });
  return { id, email, name };
}

/** Returns address and name as they are stored. Throws invalid_request for those that no account may have. */
export function checkedUser(typed: string, typedName: string): { email: string; name: string } {
  const email = normalizeEmail(typed);
  const name = typedName.trim();
  if (!isEmail(email)) throw invalidRequest(`${JSON.stringify(typed)} is no e-mail address.`);
  if (name === "" || name.length > limits.auth.nameMaxLength || /\p{Cc}/u.test(name)) {
    throw invalidRequest(`The name must have 1 to ${limits.auth.nameMaxLength} characters in one line.`);
  }
  return { email, name };
}
