import { randomBytes } from "node:crypto";

/** Lower case without i, l, o and u: valid in host names and pod names, and hard to misread. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Encodes the first `length` base32 characters of `bytes`, five bits each. Throws RangeError if there are too
 * few bytes.
 */
export function toBase32(bytes: Uint8Array, length: number): string {
  if (bytes.length * 8 < length * 5)
    throw new RangeError(`${bytes.length} bytes are too few for ${length} base32 characters.`);
  let text = "";
  let pending = 0;
  let bits = 0;
  for (const byte of bytes) {
    pending = (pending << 8) | byte;
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += alphabet.charAt((pending >> bits) & 31);
    }
    pending &= (1 << bits) - 1;
  }
  return text;
}

/** Buffered random bytes: requesting a few at a time from the system is expensive. */
const stored = { bytes: Buffer.alloc(0), used: 0 };
const storeBytes = 4096;

/** Returns `length` random base32 characters, five bits of randomness each. */
export function randomBase32(length: number): string {
  const needed = Math.ceil((length * 5) / 8);
  if (stored.used + needed > stored.bytes.length) {
    stored.bytes = randomBytes(Math.max(storeBytes, needed));
    stored.used = 0;
  }
  const bytes = stored.bytes.subarray(stored.used, stored.used + needed);
  stored.used += needed;
  return toBase32(bytes, length);
}
