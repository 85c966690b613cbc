import { limits } from "#contracts/limits.ts";
import type { Audit } from "../../audit/audit.ts";
import type { Passwords } from "../../auth/passwords.ts";
import type { User } from "../../auth/userQueries.ts";
import { DomainError } from "../../errors.ts";
import type { Mailer } from "../../mail/mailer.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { insertUser } from "../accountQueries.ts";
import { requirePassword } from "../passwordRule.ts";
import { linkTokenDigest } from "../../auth/linkToken.ts";
import { invalidLink, issueAccountLink, takeAccountLink } from "./accountLinks.ts";
import {
  deleteAccountLinks,
  deleteAccountLinksOfUser,
  findAccountLink,
  findUnconfirmedUser,
  updateUserConfirmed,
  upsertUnconfirmedUser,
} from "./accountLinkQueries.ts";
import { confirmationMail, existingAccountMail } from "./messages.ts";

/** Dependencies of new accounts. */
export interface SignUpDeps {
  postgres: Postgres;
  passwords: Passwords;
  audit: Audit;
}

/** A request with a link. */
export interface LinkRequest {
  token: string;
  address: string;
  requestId: string;
}

/**
 * Stores an account that is confirmed by mail. If the address has a confirmed account, its owner gets a mail
 * that says so, and nothing changes.
 */
export async function signUp(
  { postgres, passwords, mailer, config }: SignUpDeps & { mailer: Mailer; config: { baseUrl: string } },
  { email, name, password }: { email: string; name: string; password: string },
): Promise<void> {
  const passwordHash = await passwords.hash(password);
  const seconds = limits.auth.link.confirmationSeconds;
  const link = await postgres.transaction(async (transaction) => {
    const userId = await upsertUnconfirmedUser(transaction, { email, name, passwordHash, seconds });
    if (userId === undefined) return undefined;
    // A link of an earlier sign-up was for its password.
    await deleteAccountLinks(transaction, "confirmation", email);
    return issueAccountLink(transaction, config.baseUrl, { purpose: "confirmation", email, userId, seconds });
  });
  await mailer.send(
    link === undefined ? existingAccountMail(email, config.baseUrl) : confirmationMail(email, link),
  );
}

/**
 * Confirms an account and returns its user. The password proves that the mail was opened by the person who
 * signed up: otherwise somebody could open an account with another person's address and a password of their
 * own, and wait for that person to follow the link.
 *
 * @throws invalid_link, invalid_credentials for another password than that of the sign-up
 */
export async function confirmSignUp(
  { postgres, passwords, audit }: SignUpDeps,
  { token, password, address, requestId }: LinkRequest & { password: string },
): Promise<User> {
  const link = await findAccountLink(postgres.pool, linkTokenDigest(token));
  if (link?.purpose !== "confirmation" || link.userId === null) throw invalidLink();
  const user = await findUnconfirmedUser(postgres.pool, link.userId);
  if (user === undefined) throw invalidLink();
  if (!(await passwords.check(password, user.passwordHash)).isEqual)
    throw new DomainError("invalid_credentials", {
      message: "That is not the password that was chosen at the sign-up.",
    });
  const confirmed = await postgres.transaction(async (transaction) => {
    const { userId } = await takeAccountLink(transaction, token, "confirmation");
    const found = await updateUserConfirmed(transaction, userId ?? "", null);
    if (found === undefined) throw invalidLink();
    return found;
  });
  await recordCreated(audit, confirmed, "signUp", { address, requestId });
  return confirmed;
}

/**
 * Creates the account of an invitation.
 *
 * @throws invalid_link, common_password, conflict when the address has an account by now
 */
export async function acceptInvitation(
  { postgres, passwords, audit }: SignUpDeps,
  { token, name, password, address, requestId }: LinkRequest & { name: string; password: string },
): Promise<User> {
  await requirePassword(password);
  // Before the hash, which is expensive.
  if ((await findAccountLink(postgres.pool, linkTokenDigest(token)))?.purpose !== "invitation")
    throw invalidLink();
  const passwordHash = await passwords.hash(password);
  const user = await postgres.transaction(async (transaction) => {
    const { email } = await takeAccountLink(transaction, token, "invitation");
    const id = await insertUser(transaction, { email, name, passwordHash });
    if (id === undefined)
      throw new DomainError("conflict", { message: "This address has an account already. Sign in instead." });
    await deleteAccountLinksOfUser(transaction, id);
    return { id, email, name, image: null };
  });
  await recordCreated(audit, user, "invitation", { address, requestId });
  return user;
}

async function recordCreated(
  audit: Audit,
  { id }: User,
  by: "invitation" | "signUp",
  { address, requestId }: Pick<LinkRequest, "address" | "requestId">,
): Promise<void> {
  const user = { kind: "user", id } as const;
  await audit.record({
    action: "user.created",
    actor: user,
    subject: user,
    address,
    requestId,
    details: { by },
  });
}
