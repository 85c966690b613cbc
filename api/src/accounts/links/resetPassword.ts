import { limits } from "#contracts/limits.ts";
import type { AuthSessions } from "../../auth/authSessions.ts";
import { updateAuthSessionsRevoked } from "../../auth/authSessionQueries.ts";
import type { User } from "../../auth/userQueries.ts";
import type { Mailer } from "../../mail/mailer.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { requirePassword } from "../passwordRule.ts";
import { linkTokenDigest } from "../../auth/linkToken.ts";
import { invalidLink, issueAccountLink, takeAccountLink } from "./accountLinks.ts";
import {
  deleteAccountLinksOfUser,
  findAccountLink,
  findAccountOfAddress,
  updateUserConfirmed,
} from "./accountLinkQueries.ts";
import { resetMail } from "./messages.ts";
import type { LinkRequest, SignUpDeps } from "./signUp.ts";

/** Mails a link to choose a new password, if the address has an enabled account. */
export async function mailResetLink(
  { postgres, mailer, config }: { postgres: Postgres; mailer: Mailer; config: { baseUrl: string } },
  email: string,
): Promise<void> {
  const account = await findAccountOfAddress(postgres.pool, email);
  if (account === undefined) return;
  const link = await issueAccountLink(postgres.pool, config.baseUrl, {
    purpose: "password_reset",
    email,
    userId: account.id,
    seconds: limits.auth.link.resetSeconds,
  });
  await mailer.send(resetMail(email, link));
}

/**
 * Sets a new password with a link, ends all sign-ins of the player and returns the user. The link also
 * confirms an account that was not confirmed yet: whoever opened it with the player's address does not know
 * the new password.
 *
 * @throws invalid_link, common_password
 */
export async function resetPassword(
  { postgres, passwords, audit, authSessions }: SignUpDeps & { authSessions: AuthSessions },
  { token, newPassword, address, requestId }: LinkRequest & { newPassword: string },
): Promise<User> {
  await requirePassword(newPassword);
  if ((await findAccountLink(postgres.pool, linkTokenDigest(token)))?.purpose !== "password_reset")
    throw invalidLink();
  const passwordHash = await passwords.hash(newPassword);
  const { user, ended } = await postgres.transaction(async (transaction) => {
    const { userId } = await takeAccountLink(transaction, token, "password_reset");
    const found = await updateUserConfirmed(transaction, userId ?? "", passwordHash);
    if (found === undefined) throw invalidLink();
    await deleteAccountLinksOfUser(transaction, found.id);
    return { user: found, ended: await updateAuthSessionsRevoked(transaction, found.id) };
  });
  await authSessions.announceRevoked(ended);
  const actor = { kind: "user", id: user.id } as const;
  await audit.record({
    action: "user.passwordChanged",
    actor,
    subject: actor,
    address,
    requestId,
    details: { endedSignIns: ended.length, by: "link" },
  });
  return user;
}
