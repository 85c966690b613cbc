import { randomBytes } from "node:crypto";

/** Lower case without i, l, o and u: safe in host names and pod names, hard to misread. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** The first `length` base32 characters of `bytes`, five bits each; there must be enough bytes. */
export function toBase32(bytes: Uint8Array, length: number): string {
  if (bytes.length * 8 < length * 5) throw new RangeError(`${bytes.length} bytes are too few for ${length} base32 characters.`);
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

/** `length` random base32 characters, five bits of randomness each. */
export function randomBase32(length: number): string {
  return toBase32(randomBytes(Math.ceil((length * 5) / 8)), length);
}
