import { limits } from "#contracts/limits.ts";
import type { SignUpMode } from "#contracts/http/accountLinks.ts";
import type { Audit } from "../../audit/audit.ts";
import { accountHashOf } from "../../auth/tokens.ts";
import { normalizeEmail } from "../../auth/email.ts";
import { DomainError, invalidRequest, notFound } from "../../errors.ts";
import type { Mail, Mailer } from "../../mail/mailer.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { issueAccountLink, requireMailAddress, type IssuedLink } from "./accountLinks.ts";
import { deleteAccountLinks, findAccountOfAddress } from "./accountLinkQueries.ts";
import { invitationMail, resetMail } from "./messages.ts";

/** Dependencies of links that an admin orders. */
export interface PrintedLinkDeps {
  postgres: Postgres;
  audit: Audit;
  /** Undefined if this site sends no mail. */
  mailer: Mailer | undefined;
  config: { baseUrl: string; signUp: SignUpMode };
}

/** A link for an admin to print, and whether it was also mailed. */
export interface PrintedLink extends IssuedLink {
  email: string;
  isMailed: boolean;
  /** Why no mail was sent although an SMTP server is configured. */
  mailError: string | undefined;
}

/**
 * Invites a person. Earlier invitations of the address stop working.
 *
 * @throws invalid_request when the site takes no invitations, conflict when the address has an account
 */
export async function inviteUser(
  deps: PrintedLinkDeps & { pepper: string },
  typed: string,
): Promise<PrintedLink> {
  const { postgres, audit, config, pepper } = deps;
  if (config.signUp === "closed")
    throw invalidRequest(
      "Sign-up is closed. Set auth.signUp (SIGN_UP) to invite or open, or create the player with `joypod user create`.",
    );
  const email = requireMailAddress(typed);
  const account = await findAccountOfAddress(postgres.pool, email);
  if (account !== undefined && !account.isUnconfirmed)
    throw new DomainError("conflict", {
      message: `User ${email} already exists. For a new password, use \`joypod user reset-link ${email}\`.`,
      extra: { id: account.id, email },
    });
  const link = await postgres.transaction(async (transaction) => {
    await deleteAccountLinks(transaction, "invitation", email);
    return issueAccountLink(transaction, config.baseUrl, {
      purpose: "invitation",
      email,
      userId: null,
      seconds: limits.auth.link.invitationSeconds,
    });
  });
  await audit.record({
    action: "user.invited",
    actor: { kind: "operator" },
    subject: { kind: "account", id: accountHashOf(pepper, email) },
  });
  return printed(deps, email, link, invitationMail(email, link));
}

/**
 * Creates a link with which a player chooses a new password.
 *
 * @throws not_found when the address has no enabled account
 */
export async function createResetLink(deps: PrintedLinkDeps, typed: string): Promise<PrintedLink> {
  const { postgres, audit, config } = deps;
  const email = normalizeEmail(typed);
  const account = await findAccountOfAddress(postgres.pool, email);
  if (account === undefined)
    throw notFound(`There is no enabled user ${email}. Enable a disabled one with \`joypod user enable\`.`);
  const link = await issueAccountLink(postgres.pool, config.baseUrl, {
    purpose: "password_reset",
    email,
    userId: account.id,
    seconds: limits.auth.link.printedResetSeconds,
  });
  await audit.record({
    action: "user.resetLinkCreated",
    actor: { kind: "operator" },
    subject: { kind: "user", id: account.id },
  });
  return printed(deps, email, link, resetMail(email, link));
}

async function printed(
  { mailer }: PrintedLinkDeps,
  email: string,
  link: IssuedLink,
  mail: Mail,
): Promise<PrintedLink> {
  if (mailer === undefined) return { ...link, email, isMailed: false, mailError: undefined };
  try {
    await mailer.send(mail);
    return { ...link, email, isMailed: true, mailError: undefined };
  } catch (error) {
    // The link works without the mail.
    return { ...link, email, isMailed: false, mailError: error instanceof Error ? error.message : "unknown" };
  }
}
