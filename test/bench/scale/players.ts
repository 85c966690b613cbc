import { randomUUID } from "node:crypto";
import { sessionCookieName } from "#api/auth/cookies.ts";
import type { Deps } from "#api/deps.ts";

/** Stores a player who is signed in without a password, and returns the sign-in cookie. */
export async function signedInPlayer(deps: Deps): Promise<string> {
  const name = "Ada Player";
  const email = `${randomUUID()}@example.test`;
  const { id } = await deps.postgres.prisma.user.create({ data: { name, email } });
  const { sid, endsAt } = await deps.authSessions.create(id);
  const { token } = deps.tokens.issue({ sub: id, name, email, sid }, endsAt);
  return `${sessionCookieName(deps.config)}=${token}`;
}
