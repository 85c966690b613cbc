import { createHmac, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import { PasswordPool } from "./passwordPool.ts";
import { isReadWhole, readStoredHash } from "./storedHash.ts";

/** What passwords are hashed with. */
export interface PasswordsOptions {
  pepper: string;
  cost: number;
  workers: number;
}

/**
 * The result of a check; `shouldRehash` is true when the stored hash has another cost than new ones, or was
 * imported.
 */
export interface PasswordCheck {
  isEqual: boolean;
  shouldRehash: boolean;
}

/** Makes and checks password hashes in threads of their own. */
export class Passwords {
  readonly #pool: PasswordPool;
  readonly #pepper: string;
  readonly #cost: number;
  #dummyHash: Promise<string> | undefined;

  constructor({ pepper, cost, workers }: PasswordsOptions) {
    this.#pepper = pepper;
    this.#cost = cost;
    this.#pool = new PasswordPool({ workers, queueMax: limits.auth.passwordQueue });
  }

  /** The number of tasks that wait for a thread. */
  get queued(): number {
    return this.#pool.queued;
  }

  /** Returns a hash to store. Throws unavailable when too many tasks wait. */
  async hash(password: string): Promise<string> {
    const result = await this.#pool.run({ secret: this.#prepare(password), cost: this.#cost });
    if (!("hash" in result)) throw new Error("The password thread returned the result of another task.");
    return result.hash;
  }

  /**
   * Compares a password with the stored hash. Without a hash it compares with a dummy, so that the result
   * takes equally long. Throws unavailable when too many tasks wait.
   */
  async check(password: string, storedHash: string | null): Promise<PasswordCheck> {
    const { hash, cost, isImported } = readStoredHash(storedHash ?? (await this.#dummy()));
    const secret = isImported ? password : this.#prepare(password);
    const result = await this.#pool.run({ secret, hash, cost, likeCost: this.#cost });
    if (!("isEqual" in result)) throw new Error("The password thread returned the result of another task.");
    const isEqual = result.isEqual && storedHash !== null && (!isImported || isReadWhole(password));
    return { isEqual, shouldRehash: isEqual && (isImported || cost !== this.#cost) };
  }

  /** Computes the dummy hash, so that the first sign-in of an unknown user is as quick as the others. */
  async warmUp(): Promise<void> {
    await this.#dummy();
  }

  /** Ends the threads; waiting tasks fail with unavailable. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /**
   * Returns what bcrypt hashes: it reads 72 bytes and stops at a NUL, so it gets a digest of fixed length
   * instead of the password.
   */
  #prepare(password: string): string {
    return createHmac("sha256", this.#pepper).update(password).digest("base64");
  }

  #dummy(): Promise<string> {
    this.#dummyHash ??= this.hash(randomBytes(32).toString("hex")).catch((error: unknown) => {
      this.#dummyHash = undefined;
      throw error;
    });
    return this.#dummyHash;
  }
}
