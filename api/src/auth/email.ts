import { limits } from "#contracts/limits.ts";

/** Returns the normal form of an e-mail address, which identifies accounts and failed attempts. */
export function normalizeEmail(text: string): string {
  return text.trim().normalize("NFKC").toLowerCase();
}

/** Returns whether a normalised text is a possible e-mail address. Other text must not reach the database. */
export function isEmail(normalized: string): boolean {
  return (
    normalized.length <= limits.auth.emailMaxLength &&
    /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(normalized) &&
    normalized.isWellFormed()
  );
}
