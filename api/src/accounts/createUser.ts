import { limits } from "#contracts/limits.ts";
import { isEmail, normalizeEmail } from "../auth/email.ts";
import { type Passwords, importedHash } from "../auth/passwords.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import {
  findUserIdByEmail,
  insertUser,
  insertImportedUsers,
  type ImportedUserRow,
} from "./accountQueries.ts";
import { requirePassword } from "./passwordRule.ts";
import { z } from "zod";

/** An account about to be created. */
interface NewUser {
  email: string;
  name: string;
  password: string;
}

/**
 * Creates an account. Its address counts as verified, because an operator vouches for it.
 *
 * @throws invalid_request, common_password, and conflict with the id of the existing account
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
      message: `User ${email} already exists.`,
      extra: { id: existing, email },
    });
  }
  await audit.record({ action: "user.created", actor: { kind: "operator" }, subject: { kind: "user", id } });
  return { id, email, name };
}

/**
 * Returns the normalized address and name.
 *
 * @throws invalid_request when either is invalid
 */
function checkedUser(typed: string, typedName: string): { email: string; name: string } {
  const email = normalizeEmail(typed);
  const name = typedName.trim();
  if (!isEmail(email)) throw invalidRequest(`${JSON.stringify(typed)} is not an e-mail address.`);
  if (name === "" || name.length > limits.auth.nameMaxLength || /\p{Cc}/u.test(name)) {
    throw invalidRequest(`The name must have 1 to ${limits.auth.nameMaxLength} characters in one line.`);
  }
  return { email, name };
}

/** A user of another platform. */
const ImportedUser = z.strictObject({
  email: z.string(),
  name: z.string(),
  passwordHash: z.string(),
  /** False keeps a provider's account with this address from signing in as this user. */
  emailVerified: z.boolean().default(false),
});

/** Number of lines that created an account, and of those that did not. */
interface ImportedUsers {
  created: number;
  /** Lines whose address already has an account, which stays unchanged. */
  existing: number;
}

/**
 * Hashes with a lower cost can be guessed too fast. A hash with a higher cost than ours would take longer to
 * check, which would reveal that its user was imported.
 */
const costMin = 10;
const rowsPerStatement = 500;
const lineMaxLength = 8_192;

/**
 * Creates accounts from JSON lines, in batches of a few hundred to bound memory. Can be repeated: existing
 * accounts are left unchanged.
 *
 * @throws invalid_request with the number of the first invalid line
 */
export async function importUsers(
  { postgres }: { postgres: Postgres },
  lines: AsyncIterable<string>,
  costMax: number,
): Promise<ImportedUsers> {
  const done = { created: 0, existing: 0 };
  let rows: ImportedUserRow[] = [];
  let number = 0;
  const insertRows = async (): Promise<void> => {
    const created = await insertImportedUsers(postgres.pool, rows);
    done.created += created;
    done.existing += rows.length - created;
    rows = [];
  };
  for await (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    try {
      rows.push(readLine(line, costMax));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      throw new DomainError("invalid_request", {
        message: `Line ${number}: ${error.message} ${done.created} players were created before it. Correct the line and run the import again.`,
        extra: { line: String(number) },
      });
    }
    if (rows.length === rowsPerStatement) await insertRows();
  }
  await insertRows();
  return done;
}

function readLine(line: string, costMax: number): ImportedUserRow {
  if (line.length > lineMaxLength)
    throw invalidRequest(`The line has more than ${lineMaxLength} characters.`);
  const parsed = ImportedUser.safeParse(parseJson(line));
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => [...path, message].join(": "));
    throw invalidRequest(
      `The line must be {"email", "name", "passwordHash", "emailVerified"?} (${issues.join("; ")}).`,
    );
  }
  const { emailVerified, ...typed } = parsed.data;
  return {
    ...checkedUser(typed.email, typed.name),
    passwordHash: storedHash(typed.passwordHash, costMax),
    isVerified: emailVerified,
  };
}

function storedHash(hash: string, costMax: number): string {
  const imported = importedHash(hash);
  if (imported === undefined)
    throw invalidRequest(
      "passwordHash must be a bcrypt hash: $2a$, $2b$ or $2y$, the cost, and 53 characters.",
    );
  if (imported.cost < costMin || imported.cost > costMax) {
    throw invalidRequest(
      `passwordHash has cost ${imported.cost}. It must be between ${costMin} and ${costMax}, the API's BCRYPT_COST.`,
    );
  }
  return imported.stored;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // The schema reports missing fields.
  }
}
