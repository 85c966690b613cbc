import type { Postgres } from "./postgres.ts";

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

/** The user of a normalised e-mail address. */
export async function findUserByEmail({ prisma }: Postgres, email: string): Promise<UserWithPassword | undefined> {
  const row = await prisma.user.findUnique({ where: { email }, select: { ...columns, passwordHash: true, disabledAt: true } });
  if (row === null) return undefined;
  const { disabledAt, ...user } = row;
  return { ...user, isDisabled: disabledAt !== null };
}

export async function findUserById({ prisma }: Postgres, id: string): Promise<User | undefined> {
  return await prisma.user.findFirst({ where: { id, disabledAt: null }, select: columns }) ?? undefined;
}

/** Replaces the hash, unless the password was changed meanwhile. */
export async function replacePasswordHash({ prisma }: Postgres, user: UserWithPassword, passwordHash: string): Promise<void> {
  await prisma.user.updateMany({ where: { id: user.id, passwordHash: user.passwordHash }, data: { passwordHash } });
}
