import type { Audit } from "../audit/audit.ts";
import type { AuthSessions, NewAuthSession } from "../auth/authSessions.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { SignInPlace } from "../auth/signInPlace.ts";
import { unauthorized } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { updatePasswordHash } from "./accountQueries.ts";
import { requirePassword } from "./passwordRule.ts";

/** Dependencies of replacing a player's sign-ins. */
export interface OwnSignInsDeps {
  postgres: Postgres;
  authSessions: AuthSessions;
  audit: Audit;
}

/** A player and the current sign-in of their browser. */
export interface Player {
  id: string;
  /** Id of the browser's current sign-in. */
  authSessionId: string;
  signedInAt: Date;
  place: SignInPlace;
  address: string;
  requestId: string;
}

/** The browser's new sign-in, and the number of other sign-ins that ended. */
export interface ReplacedSignIns {
  created: NewAuthSession;
  endedOthers: number;
}

/**
 * Sets the player's password and ends all their sign-ins; the browser gets a new one.
 *
 * @throws unauthorized when the browser's current sign-in has ended, and what requirePassword throws
 */
export async function changeOwnPassword(
  deps: OwnSignInsDeps & { passwords: Passwords },
  player: Player,
  newPassword: string,
): Promise<ReplacedSignIns> {
  await requirePassword(newPassword);
  const passwordHash = await deps.passwords.hash(newPassword);
  const { created, ended } = await deps.postgres.transaction(async (transaction) => {
    await updatePasswordHash(transaction, player.id, passwordHash);
    return replaceAll(deps, transaction, player);
  });
  return announced(deps, player, "user.passwordChanged", { created, ended });
}

/**
 * Ends all other sign-ins of the player. The browser gets a new sign-in, in case its cookie was copied.
 *
 * @throws unauthorized when the browser's current sign-in has ended
 */
export async function endOtherSignIns(deps: OwnSignInsDeps, player: Player): Promise<ReplacedSignIns> {
  const replaced = await deps.postgres.transaction((transaction) =>
    replaceAll(deps, transaction, player, player.signedInAt),
  );
  return announced(deps, player, "user.signInsEnded", replaced);
}

/**
 * Replaces all sign-ins of the player. If the browser's current sign-in has ended in the meantime, the
 * request must neither end newer sign-ins nor create one.
 *
 * @throws unauthorized when the browser's current sign-in has ended
 */
async function replaceAll(
  { authSessions }: OwnSignInsDeps,
  transaction: Queryable,
  { id: userId, place, authSessionId }: Player,
  startedAt?: Date,
): ReturnType<AuthSessions["replaceAll"]> {
  const replaced = await authSessions.replaceAll(transaction, {
    userId,
    place,
    ...(startedAt !== undefined && { startedAt }),
  });
  if (!replaced.ended.includes(authSessionId)) throw unauthorized();
  return replaced;
}

async function announced(
  { authSessions, audit }: OwnSignInsDeps,
  { id, address, requestId }: Player,
  action: string,
  { created, ended }: { created: NewAuthSession; ended: string[] },
): Promise<ReplacedSignIns> {
  await authSessions.announceRevoked(ended);
  const endedOthers = Math.max(0, ended.length - 1);
  const user = { kind: "user", id } as const;
  await audit.record({
    action,
    actor: user,
    subject: user,
    address,
    requestId,
    details: { endedSignIns: endedOthers },
  });
  return { created, endedOthers };
}
