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

/** A player and the sign-in of their browser. */
export interface Player {
  id: string;
  /** The sign-in of that browser. */
  authSessionId: string;
  signedInAt: Date;
  place: SignInPlace;
  address: string;
  requestId: string;
}

/** The new sign-in of the player's browser, and the number of others that ended. */
export interface ReplacedSignIns {
  begun: NewAuthSession;
  endedOthers: number;
}

/**
 * Sets the player's password and ends their sign-ins; the browser goes on with a new one. Throws what
 * requirePassword throws, and `unauthorized` where the browser's own sign-in has been ended meanwhile.
 */
export async function changeOwnPassword(
  deps: OwnSignInsDeps & { passwords: Passwords },
  player: Player,
  newPassword: string,
): Promise<ReplacedSignIns> {
  await requirePassword(newPassword);
  const passwordHash = await deps.passwords.hash(newPassword);
  const { begun, ended } = await deps.postgres.transaction(async (transaction) => {
    await updatePasswordHash(transaction, player.id, passwordHash);
    return replaceAll(deps, transaction, player);
  });
  return announced(deps, player, "user.passwordChanged", { begun, ended });
}

/**
 * Ends all other sign-ins of the player. Their browser gets a new one in place of its own, which somebody may
 * have copied. Throws `unauthorized` where that has been ended meanwhile.
 */
export async function endOtherSignIns(deps: OwnSignInsDeps, player: Player): Promise<ReplacedSignIns> {
  const replaced = await deps.postgres.transaction((transaction) =>
    replaceAll(deps, transaction, player, player.signedInAt),
  );
  return announced(deps, player, "user.signInsEnded", replaced);
}

/**
 * Replaces all sign-ins of the player. Throws unauthorized when the asking browser's own sign-in was ended
 * meanwhile: it must neither end sign-ins that have begun since, nor get another one.
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
  { begun, ended }: { begun: NewAuthSession; ended: string[] },
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
  return { begun, endedOthers };
}
