import { limits } from "#contracts/limits.ts";

/** Returns the normal form of an e-mail address, by which accounts are found and failures are counted. */
export function normalizeEmail(text: string): string {
  return text.trim().normalize("NFKC").toLowerCase();
}

/** Whether a normalised text can be an e-mail address; other text must not reach the database. */
export function isEmail(normalized: string): boolean {
  return (
    normalized.length <= limits.auth.emailMaxLength &&
    /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(normalized) &&
    normalized.isWellFormed()
  );
}
