import { limits } from "#contracts/limits.ts";

/** The one spelling of an e-mail address that accounts are found and failures are counted by. */
export function normalizeEmail(text: string): string {
  return text.trim().normalize("NFKC").toLowerCase();
}

/** Whether a normalised address can be one; what cannot is no account, and must not reach the database. */
export function isEmail(normalized: string): boolean {
  return normalized.length <= limits.auth.emailMaxLength && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(normalized) && normalized.isWellFormed();
}
