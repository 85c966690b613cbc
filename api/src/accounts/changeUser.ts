import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { normalizeEmail } from "../auth/email.ts";
import type { Passwords } from "../auth/passwords.ts";
import { updateAuthSessionsRevoked } from "../auth/authSessionQueries.ts";
import { DomainError, notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { requireUserOf } from "./findUser.ts";
import { requireMailAddress } from "./links/accountLinks.ts";
import { deleteAccountLinksOfUser } from "./links/accountLinkQueries.ts";
import { requirePassword } from "./passwordRule.ts";
import {
  deleteIdempotencyKeysOfUser,
  deleteUserById,
  findActiveGameSessionOfUser,
  updateActiveGameSessionStopping,
  lockUserByEmail,
  updateUserAddress,
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

const uniqueViolation = "23505";

/**
 * Gives an account another address, with which the player signs in from then on. Links that were mailed to
 * the former one stop working.
 *
 * @throws not_found, invalid_request, conflict when the address has an account
 */
export async function changeAddress(
  { postgres, audit }: Pick<ChangeUserDeps, "postgres" | "audit">,
  typed: string,
  typedAddress: string,
): Promise<{ id: string; email: string; former: string }> {
  const email = requireMailAddress(typedAddress);
  const { id } = await requireUserOf(postgres.pool, typed);
  const former = await postgres
    .transaction(async (transaction) => {
      await deleteAccountLinksOfUser(transaction, id);
      return updateUserAddress(transaction, id, email);
    })
    .catch((error: unknown) => {
      if (!(error instanceof Error) || !("code" in error) || error.code !== uniqueViolation) throw error;
      throw new DomainError("conflict", { message: `User ${email} already exists.`, extra: { email } });
    });
  if (former === undefined) throw notFound(`There is no user ${typed}.`);
  await audit.record({
    action: "user.emailChanged",
    actor: { kind: "operator" },
    subject: { kind: "user", id },
  });
  return { id, email, former };
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
