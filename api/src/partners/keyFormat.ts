import { createHash, timingSafeEqual } from "node:crypto";
import { randomBase32, toBase32 } from "#runtime/base32.ts";

/**
 * Prefix of API keys. A key reads `joypod_live_<keyId>_<secret><check>`: the id finds the row and the secret
 * (200 bits) authenticates the holder. The check detects typing errors without a database query and lets
 * secret scanners recognize a key.
 */
const prefix = "joypod_live";
const keyIdLength = 16;
const secretLength = 40;
const checkLength = 6;
const keyPattern = new RegExp(
  `^(?<signed>${prefix}_(?<keyId>[0-9a-z]{${keyIdLength}})_(?<secret>[0-9a-z]{${secretLength}}))(?<check>[0-9a-z]{${checkLength}})$`,
);

/** A new key. `key` is shown once and never stored; the other fields form the row. */
export interface NewPartnerKey {
  key: string;
  keyId: string;
  secretHash: string;
}

/** The key of a request; it is valid if `secretHash` equals the stored one. */
export interface PresentedPartnerKey {
  keyId: string;
  secretHash: string;
}

/** Returns a new key. */
export function createPartnerKey(): NewPartnerKey {
  const keyId = randomBase32(keyIdLength);
  const secret = randomBase32(secretLength);
  const signed = `${prefix}_${keyId}_${secret}`;
  return { key: signed + checkOf(signed), keyId, secretHash: hashOf(secret) };
}

/** Parses a key; undefined if the text is mistyped, truncated or not a key. */
export function parsePartnerKey(text: string): PresentedPartnerKey | undefined {
  const { signed, keyId, secret, check } = keyPattern.exec(text)?.groups ?? {};
  if (signed === undefined || keyId === undefined || secret === undefined || check !== checkOf(signed))
    return undefined;
  return { keyId, secretHash: hashOf(secret) };
}

/** Compares the hashes of two secrets in constant time. */
export function isSameSecretHash(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns the secret's hash. A fast hash suffices for 200 random bits. */
function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function checkOf(signed: string): string {
  return toBase32(createHash("sha256").update(signed).digest(), checkLength);
}
