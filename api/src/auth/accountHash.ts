import { createHmac } from "node:crypto";
import { deriveKey } from "./tokens.ts";

/**
 * Returns what stands in the audit trail for an e-mail address, which must be normalised: nobody can tell the address from it without the
 * pepper, and it is the same whether there is an account or not.
 */
export function accountHashOf(pepper: string, email: string): string {
  return createHmac("sha256", deriveKey(Buffer.from(pepper), "audit")).update(email).digest("hex").slice(0, 32);
}
