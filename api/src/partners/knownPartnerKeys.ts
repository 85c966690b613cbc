import type { PresentedPartnerKey } from "./keyFormat.ts";

const keysMax = 10_000;

/**
 * Keys that this process has found right before: their requests are not counted as guesses, whatever else
 * comes from their address. Whether one still works is for the database to say each time.
 */
export class KnownPartnerKeys {
  /** The hash of the secret, by the key's id; the oldest first. */
  readonly #hashes = new Map<string, string>();
  /** First checks under way, by key. */
  readonly #checks = new Map<string, Promise<unknown>>();

  has({ keyId, secretHash }: PresentedPartnerKey): boolean {
    return this.#hashes.get(keyId) === secretHash;
  }

  keep({ keyId, secretHash }: PresentedPartnerKey): void {
    this.#hashes.set(keyId, secretHash);
    if (this.#hashes.size <= keysMax) return;
    const oldest = this.#hashes.keys().next();
    if (oldest.done !== true) this.#hashes.delete(oldest.value);
  }

  /**
   * Runs the first check of a key, and lets requests with the same key wait for it meanwhile: hundreds of
   * requests that use a key for the first time at once are not hundreds of guesses.
   */
  async check<T>(presented: PresentedPartnerKey, first: () => Promise<T>): Promise<T | "checked"> {
    const name = `${presented.keyId} ${presented.secretHash}`;
    const underWay = this.#checks.get(name);
    if (underWay !== undefined) {
      await underWay.catch(() => undefined);
      return "checked";
    }
    const check = first();
    this.#checks.set(name, check);
    return check.finally(() => this.#checks.delete(name));
  }

  forget({ keyId, secretHash }: PresentedPartnerKey): void {
    if (this.#hashes.get(keyId) === secretHash) this.#hashes.delete(keyId);
  }
}
