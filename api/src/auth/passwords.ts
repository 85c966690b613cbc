import { createHmac, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import { PasswordPool } from "./passwordPool.ts";
import { isReadWhole, readStoredHash } from "./storedHash.ts";

export interface PasswordsOptions {
  pepper: string;
  cost: number;
  workers: number;
}

/** The outcome of a check; `shouldRehash` when the stored hash is of another cost than new ones, or was imported. */
export interface PasswordCheck {
  isEqual: boolean;
  shouldRehash: boolean;
}

/** Makes and checks password hashes, in threads of their own. */
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

  get queued(): number {
    return this.#pool.queued;
  }

  /** A hash to store. */
  async hash(password: string): Promise<string> {
    const result = await this.#pool.run({ secret: this.#prepare(password), cost: this.#cost });
    if (!("hash" in result)) throw new Error("The password worker answered another question.");
    return result.hash;
  }

  /** Compares with the stored hash; without one with that of nobody, so that the answer takes equally long. */
  async check(password: string, storedHash: string | null): Promise<PasswordCheck> {
    const { hash, cost, isImported } = readStoredHash(storedHash ?? await this.#hashOfNobody());
    const secret = isImported ? password : this.#prepare(password);
    const result = await this.#pool.run({ secret, hash, cost, likeCost: this.#cost });
    if (!("isEqual" in result)) throw new Error("The password worker answered another question.");
    const isEqual = result.isEqual && storedHash !== null && (!isImported || isReadWhole(password));
    return { isEqual, shouldRehash: isEqual && (isImported || cost !== this.#cost) };
  }

  /** Makes the first sign-in of an unknown user as quick as the others. */
  async warmUp(): Promise<void> {
    await this.#hashOfNobody();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** bcrypt reads 72 bytes and stops at a NUL: a digest of fixed length is all read, whatever the password. */
  #prepare(password: string): string {
    return createHmac("sha256", this.#pepper).update(password).digest("base64");
  }

  #hashOfNobody(): Promise<string> {
    this.#dummyHash ??= this.hash(randomBytes(32).toString("hex")).catch((error: unknown) => {
      this.#dummyHash = undefined;
      throw error;
    });
    return this.#dummyHash;
  }
}
