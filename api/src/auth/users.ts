import type { Postgres } from "../stores/postgres.ts";

export interface User {
  id: string;
  email: string;
  name: string;
  image: string | null;
}

/** A user as sign-in sees one. */
export interface UserWithPassword extends User {
  passwordHash: string | null;
  isDisabled: boolean;
}

const columns = { id: true, email: true, name: true, image: true } as const;

/** The user of a normalised e-mail address. By hand: the first query of a kind keeps Prisma, and so every player, busy for a while. */
export async function findUserByEmail({ pool }: Postgres, email: string): Promise<UserWithPassword | undefined> {
  const { rows } = await pool.query<UserWithPassword>({
    name: "user.byEmail",
    text: `SELECT id, email, name, image, password_hash AS "passwordHash", disabled_at IS NOT NULL AS "isDisabled" FROM users WHERE email = $1`,
    values: [email],
  });
  return rows[0];
}

/** The user, unless unknown or disabled. */
export async function findUserById({ prisma }: Postgres, id: string): Promise<User | undefined> {
  return await prisma.user.findFirst({ where: { id, disabledAt: null }, select: columns }) ?? undefined;
}

/** Replaces the hash, unless the password was changed meanwhile. */
export async function replacePasswordHash({ prisma }: Postgres, user: UserWithPassword, passwordHash: string): Promise<void> {
  await prisma.user.updateMany({ where: { id: user.id, passwordHash: user.passwordHash }, data: { passwordHash } });
}
