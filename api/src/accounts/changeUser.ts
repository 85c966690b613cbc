import { normalizeEmail } from "../auth/email.ts";
import type { Passwords } from "../auth/passwords.ts";
import { revokeRowsOf } from "../auth/revocations.ts";
import { DomainError, notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { requirePassword } from "./passwordRule.ts";

export interface ChangeUserDeps {
  postgres: Postgres;
  audit: Audit;
  /** Tells running API servers which sign-ins are over; false when they could not be told at once. */
  announce: (authSessionIds: readonly string[]) => Promise<boolean>;
}

/** What was done to an account. */
export interface ChangedUser {
  id: string;
  email: string;
  /** Sign-ins that ended with it. */
  endedSignIns: number;
  /** False: API servers learn of the ended sign-ins within a minute. */
  isAnnounced: boolean;
}

/** Gives an account another password and ends its sign-ins. Throws not_found and invalid_request. */
export async function setPassword(deps: ChangeUserDeps & { passwords: Passwords }, { email, password }: { email: string; password: string }): Promise<ChangedUser> {
  requirePassword(password);
  const passwordHash = await deps.passwords.hash(password);
  return change(deps, email, "user.passwordChanged", async (transaction, id) => {
    await transaction.query("UPDATE users SET password_hash = $2, updated_at = now() WHERE id = $1", [id, passwordHash]);
    return revokeRowsOf(transaction, id);
  });
}

/** Keeps an account from signing in and ends its sign-ins. Throws not_found. */
export function disableUser(deps: ChangeUserDeps, email: string): Promise<ChangedUser> {
  return change(deps, email, "user.disabled", async (transaction, id) => {
    await transaction.query("UPDATE users SET disabled_at = coalesce(disabled_at, now()), updated_at = now() WHERE id = $1", [id]);
    return revokeRowsOf(transaction, id);
  });
}

/** Lets a disabled account sign in again. Throws not_found. */
export function enableUser(deps: ChangeUserDeps, email: string): Promise<ChangedUser> {
  return change(deps, email, "user.enabled", async (transaction, id) => {
    await transaction.query("UPDATE users SET disabled_at = NULL, updated_at = now() WHERE id = $1", [id]);
    return [];
  });
}

/**
 * Removes an account with all that belongs to it: sign-ins, identities, favourites, past sessions, save slots, and in time the
 * saves in the object store. The audit trail keeps what was done, by the account's id. Throws not_found, and session_active while a
 * session of theirs has not ended.
 */
export function deleteUser(deps: ChangeUserDeps, email: string): Promise<ChangedUser> {
  return change(deps, email, "user.deleted", async (transaction, id) => {
    // The user's row is locked: no launch can begin a session now.
    const { rows: [active] } = await transaction.query<{ id: string }>(
      "SELECT id FROM game_sessions WHERE user_id = $1 AND status IN ('starting', 'running', 'stopping')", [id],
    );
    if (active !== undefined) {
      throw new DomainError("session_active", { message: `The player has a session that has not ended: ${active.id}. Disable the player, stop it (kubectl delete gsess ${active.id}, in the sessions' namespace), and try again.`, extra: { sessionId: active.id } });
    }
    const ended = await revokeRowsOf(transaction, id);
    await transaction.query("DELETE FROM idempotency_keys WHERE principal = $1", [`user:${id}`]);
    await transaction.query("DELETE FROM users WHERE id = $1", [id]);
    return ended;
  });
}

/** The change and the end of the sign-ins are one transaction: a new password must not leave an old sign-in behind. */
async function change(
  { postgres, audit, announce }: ChangeUserDeps, typed: string, action: string, work: (transaction: Queryable, id: string) => Promise<string[]>,
): Promise<ChangedUser> {
  const email = normalizeEmail(typed);
  const { id, ended } = await postgres.transaction(async (transaction) => {
    const { rows: [user] } = await transaction.query<{ id: string }>("SELECT id FROM users WHERE email = $1 FOR UPDATE", [email]);
    if (user === undefined) throw notFound(`There is no user ${email}.`);
    return { id: user.id, ended: await work(transaction, user.id) };
  });
  const isAnnounced = ended.length === 0 || await announce(ended);
  await audit.record({ action, actor: { kind: "operator" }, subject: { kind: "user", id }, details: { endedSignIns: ended.length } });
  return { id, email, endedSignIns: ended.length, isAnnounced };
}
