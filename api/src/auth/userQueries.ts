import type { PrismaClient } from "../generated/client.ts";
import type { Queryable } from "../stores/queryable.ts";
import { unauthorized } from "../errors.ts";

/** A user's account. */
export interface User {
  id: string;
  email: string;
  name: string;
  image: string | null;
}

/** A user's account with the data for sign-in. */
interface UserWithPassword extends User {
  passwordHash: string | null;
  isDisabled: boolean;
  /** Whether a self-registered account still has to be confirmed by mail. */
  isUnconfirmed: boolean;
}

/** A user whose password was right, with the hash that was checked. */
export interface CheckedUser extends User {
  passwordHash: string;
}

const columns = { id: true, email: true, name: true, image: true } as const;

/** Returns the user with a normalised e-mail address, even if disabled; undefined if unknown. */
export async function findUserByEmail(db: Queryable, email: string): Promise<UserWithPassword | undefined> {
  const { rows } = await db.query<UserWithPassword>({
    name: "find-user-by-email",
    text: `SELECT id, email, name, image, password_hash AS "passwordHash", disabled_at IS NOT NULL AS "isDisabled",
             confirm_by IS NOT NULL AS "isUnconfirmed" FROM users WHERE email = $1`,
    values: [email],
  });
  return rows[0];
}

/** Returns the user with that id; undefined if unknown or disabled. */
export async function findUserById(prisma: PrismaClient, id: string): Promise<User | undefined> {
  return (await prisma.user.findFirst({ where: { id, disabledAt: null }, select: columns })) ?? undefined;
}

/**
 * Replaces the user's password hash unless it was changed since the user was read. Returns whether it was
 * replaced.
 */
export async function updateUnchangedPasswordHash(
  prisma: PrismaClient,
  user: CheckedUser,
  passwordHash: string,
): Promise<boolean> {
  const { count } = await prisma.user.updateMany({
    where: { id: user.id, passwordHash: user.passwordHash },
    data: { passwordHash },
  });
  return count === 1;
}

/**
 * Translates the error of a request whose user was deleted to unauthorized. Returns any other error
 * unchanged.
 */
export function translateUserGone(error: unknown): unknown {
  return isUserGone(error) ? unauthorized({ cause: error }) : error;
}

/**
 * Returns whether the error is a row that references a deleted user: the user was deleted during the request.
 */
function isUserGone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== foreignKeyViolation) return false;
  return (
    "constraint" in error &&
    typeof error.constraint === "string" &&
    error.constraint.endsWith("_user_id_fkey")
  );
}

const foreignKeyViolation = "23503";
