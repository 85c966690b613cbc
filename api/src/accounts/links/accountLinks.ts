import type { AccountLinkPurpose } from "#contracts/http/accountLinks.ts";
import { DomainError, invalidRequest } from "../../errors.ts";
import { normalizeEmail } from "../../auth/email.ts";
import { createLinkToken, linkTokenDigest } from "../../auth/linkToken.ts";
import { isMailAddress } from "../../mail/mailSettings.ts";
import type { Postgres } from "../../stores/postgres.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { deleteOldRows } from "../../stores/sweepRows.ts";
import {
  deleteAccountLink,
  deleteExpiredAccountLinks,
  deleteUnconfirmedUsers,
  insertAccountLink,
  type NewAccountLink,
} from "./accountLinkQueries.ts";

/** A new link, whose address is not stored anywhere. */
export interface IssuedLink {
  /** The address to open. */
  url: string;
  expiresAt: Date;
}

/** The page for each kind of link. */
const pages: Record<AccountLinkPurpose, string> = {
  invitation: "/invitation",
  password_reset: "/reset-password",
  confirmation: "/confirm-email",
  email_change: "/confirm-email",
};

/**
 * Stores a new link. Its address contains the token after `#`, which browsers do not send to servers or
 * proxies.
 */
export async function issueAccountLink(
  db: Queryable,
  baseUrl: string,
  link: Omit<NewAccountLink, "id">,
): Promise<IssuedLink> {
  const { token, digest } = createLinkToken();
  const expiresAt = await insertAccountLink(db, { ...link, id: digest });
  return { url: `${baseUrl}${pages[link.purpose]}#${token}`, expiresAt };
}

/**
 * Uses up a link within the transaction of its change: if that fails, the link stays valid.
 *
 * @throws invalid_link
 */
export async function takeAccountLink(
  transaction: Queryable,
  token: string,
  purpose: AccountLinkPurpose,
): Promise<{ email: string; userId: string | null }> {
  const link = await deleteAccountLink(transaction, linkTokenDigest(token), purpose);
  if (link === undefined) throw invalidLink();
  return link;
}

/** Returns the error for a link that is unknown, used or expired. */
export function invalidLink(): DomainError {
  return new DomainError("invalid_link", {
    message: "This link was used already, or it has expired. Request a new one.",
  });
}

/**
 * Returns the normalised address.
 *
 * @throws invalid_request when no mail can be sent to it
 */
export function requireMailAddress(typed: string): string {
  const email = normalizeEmail(typed);
  if (!isMailAddress(email) || !email.isWellFormed())
    throw invalidRequest("This is not an e-mail address.", [
      { path: "email", message: "must be an e-mail address" },
    ]);
  return email;
}

/** Deletes expired links, and accounts that were not confirmed in time. */
export async function sweepAccountLinks({ postgres }: { postgres: Postgres }): Promise<void> {
  await deleteOldRows((max) => deleteExpiredAccountLinks(postgres.pool, max));
  await deleteOldRows(async (max) => (await deleteUnconfirmedUsers(postgres.pool, max)).length);
}
