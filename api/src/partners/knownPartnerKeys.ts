import type { PresentedPartnerKey } from "./keyFormat.ts";

const keysMax = 10_000;

/**
 * Keys that this process has found right before: their requests are not counted as guesses, whatever else comes from their address. Whether
 * one still works is for the database to say each time.
 */
export class KnownPartnerKeys {
  /** The hash of the secret, by the key's id; the oldest first. */
  readonly #hashes = new Map<string, string>();

  has({ keyId, secretHash }: PresentedPartnerKey): boolean {
    return this.#hashes.get(keyId) === secretHash;
  }

  keep({ keyId, secretHash }: PresentedPartnerKey): void {
    this.#hashes.set(keyId, secretHash);
    if (this.#hashes.size <= keysMax) return;
    const oldest = this.#hashes.keys().next();
    if (oldest.done !== true) this.#hashes.delete(oldest.value);
  }

  forget({ keyId, secretHash }: PresentedPartnerKey): void {
    if (this.#hashes.get(keyId) === secretHash) this.#hashes.delete(keyId);
  }
}
