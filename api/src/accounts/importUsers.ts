import { z } from "zod";
import { importedHash } from "../auth/storedHash.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { checkedUser } from "./createUser.ts";

/** A player as another platform knows them. */
const ImportedUser = z.strictObject({
  email: z.string(),
  name: z.string(),
  passwordHash: z.string(),
  /** An address that nobody has proven to be theirs must not let a provider's account in. */
  emailVerified: z.boolean().default(false),
});

interface Row {
  email: string;
  name: string;
  passwordHash: string;
  isVerified: boolean;
}

/** What became of the lines. */
export interface ImportedUsers {
  created: number;
  /** Of addresses that have an account: nothing of it was changed. */
  existing: number;
}

/** Fewer rounds are guessed through in no time; more than our own would let everybody see who was imported, and wait for them. */
const costMin = 10;
const atOnce = 500;
const lineMaxLength = 8_192;

/**
 * Creates accounts from lines of JSON, some hundred at a time, so that any number of them needs little memory. May be run again:
 * an address that has an account is left alone. Throws invalid_request with the number of the first wrong line.
 */
export async function importUsers({ postgres }: { postgres: Postgres }, lines: AsyncIterable<string>, costMax: number): Promise<ImportedUsers> {
  const done = { created: 0, existing: 0 };
  let rows: Row[] = [];
  let number = 0;
  const store = async (): Promise<void> => {
    const created = await insertUsers(postgres.pool, rows);
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
      throw new DomainError("invalid_request", { message: `Line ${number}: ${error.message} ${done.created} players were created so far: correct the line and run the import again.`, extra: { line: String(number) } });
    }
    if (rows.length === atOnce) await store();
  }
  await store();
  return done;
}

function readLine(line: string, costMax: number): Row {
  if (line.length > lineMaxLength) throw invalidRequest(`It has more than ${lineMaxLength} characters.`);
  const parsed = ImportedUser.safeParse(parseJson(line));
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => [...path, message].join(": "));
    throw invalidRequest(`It must be {"email", "name", "passwordHash", "emailVerified"?} (${issues.join("; ")}).`);
  }
  const { emailVerified, ...typed } = parsed.data;
  return { ...checkedUser(typed.email, typed.name), passwordHash: storedHash(typed.passwordHash, costMax), isVerified: emailVerified };
}

function storedHash(hash: string, costMax: number): string {
  const imported = importedHash(hash);
  if (imported === undefined) throw invalidRequest("passwordHash must be a bcrypt hash: $2a$, $2b$ or $2y$, the cost, and 53 characters.");
  if (imported.cost < costMin || imported.cost > costMax) {
    throw invalidRequest(`passwordHash is of cost ${imported.cost}; it must be ${costMin} to ${costMax}, the API's own BCRYPT_COST.`);
  }
  return imported.stored;
}

/** How many of them are new; each new one leaves its own event in the trail. */
async function insertUsers(database: Queryable, rows: readonly Row[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { rowCount } = await database.query(
    `WITH created AS (
       INSERT INTO users (email, name, password_hash, email_verified_at)
       SELECT email, name, hash, CASE WHEN is_verified THEN now() END
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[]) AS given (email, name, hash, is_verified)
       ON CONFLICT (email) DO NOTHING RETURNING id)
     INSERT INTO audit_events (action, actor_kind, subject_kind, subject_id, details)
     SELECT 'user.imported', 'operator', 'user', id, '{}' FROM created`,
    [rows.map(({ email }) => email), rows.map(({ name }) => name), rows.map(({ passwordHash }) => passwordHash), rows.map(({ isVerified }) => isVerified)],
  );
  return rowCount ?? 0;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // Told as what it is not.
  }
}
