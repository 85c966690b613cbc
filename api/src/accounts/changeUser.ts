import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { normalizeEmail } from "../auth/email.ts";
import type { Passwords } from "../auth/passwords.ts";
import { updateAuthSessionsRevoked } from "../auth/authSessionQueries.ts";
import { DomainError, notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { requirePassword } from "./passwordRule.ts";
import {
  deleteIdempotencyKeysOfUser,
  deleteUserById,
  findActiveGameSessionOfUser,
  updateActiveGameSessionStopping,
  lockUserByEmail,
  updatePasswordHash,
  updateUserDisabled,
  updateUserEnabled,
} from "./accountQueries.ts";

/** Dependencies of account changes. */
export interface ChangeUserDeps {
  postgres: Postgres;
  audit: Audit;
  /** Announces ended sign-ins to running API servers. Returns false when that failed. */
  announce: (authSessionIds: readonly string[]) => Promise<boolean>;
}

/** An account after a change. */
export interface ChangedUser {
  id: string;
  email: string;
  /** Number of sign-ins that the change ended. */
  endedSignIns: number;
  /** False when API servers may accept the ended sign-ins for up to a minute. */
  isAnnounced: boolean;
}

/**
 * Sets a new password for an account and ends its sign-ins.
 *
 * @throws not_found, and what requirePassword throws
 */
export async function setPassword(
  deps: ChangeUserDeps & { passwords: Passwords },
  { email, password }: { email: string; password: string },
): Promise<ChangedUser> {
  await requirePassword(password);
  const passwordHash = await deps.passwords.hash(password);
  return change(deps, email, "user.passwordChanged", async (transaction, id) => {
    await updatePasswordHash(transaction, id, passwordHash);
    return updateAuthSessionsRevoked(transaction, id);
  });
}

/** A disabled account. */
export interface DisabledUser extends ChangedUser {
  /** The game session that is being stopped; null if the player was not playing. */
  stoppedSessionId: string | null;
}

/**
 * Disables an account, ends its sign-ins and stops its game session, whose save is stored first.
 *
 * @throws not_found
 */
export async function disableUser(deps: ChangeUserDeps, email: string): Promise<DisabledUser> {
  let stoppedSessionId: string | null = null;
  const changed = await change(deps, email, "user.disabled", async (transaction, id) => {
    await updateUserDisabled(transaction, id);
    stoppedSessionId = (await updateActiveGameSessionStopping(transaction, id, stopReasons.deleted)) ?? null;
    return updateAuthSessionsRevoked(transaction, id);
  });
  return { ...changed, stoppedSessionId };
}

/**
 * Enables a disabled account.
 *
 * @throws not_found
 */
export function enableUser(deps: ChangeUserDeps, email: string): Promise<ChangedUser> {
  return change(deps, email, "user.enabled", async (transaction, id) => {
    await updateUserEnabled(transaction, id);
    return [];
  });
}

/**
 * Deletes an account with its sign-ins, identities, favourites, past sessions and save slots, and eventually
 * its saves in the object store. The audit trail keeps the account's actions under its id.
 *
 * @throws not_found, session_active while the account has an active session
 */
export function deleteUser(deps: ChangeUserDeps, email: string): Promise<ChangedUser> {
  return change(deps, email, "user.deleted", async (transaction, id) => {
    // The user's row is locked, so no launch can start a session now.
    const active = await findActiveGameSessionOfUser(transaction, id);
    if (active !== undefined) {
      throw new DomainError("session_active", {
        message: `The player has an active session: ${active}. Disable the player, which stops the session, and try again when it has ended.`,
        extra: { sessionId: active },
      });
    }
    const ended = await updateAuthSessionsRevoked(transaction, id);
    await deleteIdempotencyKeysOfUser(transaction, id);
    await deleteUserById(transaction, id);
    return ended;
  });
}

/**
 * Makes the change and ends the sign-ins in one transaction, so a new password never leaves an old sign-in
 * active.
 */
async function change(
  { postgres, audit, announce }: ChangeUserDeps,
  typed: string,
  action: string,
  work: (transaction: Queryable, id: string) => Promise<string[]>,
): Promise<ChangedUser> {
  const email = normalizeEmail(typed);
  const { id, ended } = await postgres.transaction(async (transaction) => {
    const userId = await lockUserByEmail(transaction, email);
    if (userId === undefined) throw notFound(`There is no user ${email}.`);
    return { id: userId, ended: await work(transaction, userId) };
  });
  const isAnnounced = ended.length === 0 || (await announce(ended));
  await audit.record({
    action,
    actor: { kind: "operator" },
    subject: { kind: "user", id },
    details: { endedSignIns: ended.length },
  });
  return { id, email, endedSignIns: ended.length, isAnnounced };
}
