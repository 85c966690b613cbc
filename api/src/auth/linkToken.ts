import { hash, randomBytes } from "node:crypto";

/** The token of a new link, which only whoever has the link knows, and the digest that is stored of it. */
export interface LinkToken {
  /** 32 random bytes in base64url. */
  token: string;
  digest: string;
}

/** Returns a new token for a link that lets its holder in. */
export function createLinkToken(): LinkToken {
  const token = randomBytes(32).toString("base64url");
  return { token, digest: linkTokenDigest(token) };
}

/** Returns the SHA-256 of a link's token, in hex. */
export function linkTokenDigest(token: string): string {
  return hash("sha256", token, "hex");
}
