import { createHmac } from "node:crypto";
import { deriveKey } from "./tokens.ts";

/**
 * Returns the hash that stands for an e-mail address in the audit trail; the address must be normalised.
 * Without the pepper the hash does not reveal the address, and it is the same whether an account has the
 * address or not.
 */
export function accountHashOf(pepper: string, email: string): string {
  return createHmac("sha256", deriveKey(Buffer.from(pepper), "audit"))
    .update(email)
    .digest("hex")
    .slice(0, 32);
}
