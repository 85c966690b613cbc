import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { deriveKey } from "../tokens.ts";

const lifetimeMs = 10 * 60_000;
const kept = { transactions: 5, bytes: 6 * 1024 };
const ivBytes = 12;
const tagBytes = 16;

const Transaction = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string().optional(),
  verifier: z.string(),
  /** Where to continue after the sign-in; validated at the start of the transaction. */
  callbackUrl: z.string(),
  /** Row id of the sign-in whose user wants to link the identity. */
  linkTo: z.string().optional(),
  /**
   * Whether that user has reauthenticated. If not, only an identity that is already linked to them is
   * accepted.
   */
  mayLink: z.boolean().optional(),
  /** Milliseconds of the epoch, because several transactions can start in one second. */
  startedAt: z.int(),
});

/**
 * A sign-in at a provider in progress. The browser stores it encrypted, so it can be neither read nor forged.
 */
export type OAuthTransaction = z.infer<typeof Transaction>;

/** Seals and opens transactions with a dedicated key. */
export class OAuthTransactions {
  readonly #keys: Buffer[];
  readonly #clock: Clock;

  /** The first of `signingKeys` seals and all of them open, as for the session tokens. */
  constructor(signingKeys: ReadonlyMap<string, Buffer>, clock: Clock) {
    this.#keys = [...signingKeys.values()].map((key) => deriveKey(key, "oauth"));
    this.#clock = clock;
  }

  /**
   * Returns the cookie's value and expiry. The cookie's name is sealed with it, so that no cookie can be used
   * as another.
   */
  seal(name: string, transaction: Omit<OAuthTransaction, "startedAt">): { value: string; expiresAt: Date } {
    const [newest] = this.#keys;
    if (newest === undefined) throw new Error("There is no signing key.");
    const startedAt = this.#clock.now().getTime();
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv("aes-256-gcm", newest, iv).setAAD(Buffer.from(name));
    const text = Buffer.concat([
      cipher.update(JSON.stringify({ ...transaction, startedAt }), "utf8"),
      cipher.final(),
    ]);
    const value = Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
    return { value, expiresAt: new Date(startedAt + lifetimeMs) };
  }

  /** Returns the transaction in a cookie; undefined if it is invalid or too old. */
  open(name: string, value: string): OAuthTransaction | undefined {
    const bytes = Buffer.from(value, "base64url");
    if (bytes.length <= ivBytes + tagBytes || bytes.length > kept.bytes) return undefined;
    for (const key of this.#keys) {
      const transaction = Transaction.safeParse(decrypt(key, name, bytes)).data;
      if (transaction === undefined) continue;
      const ageMs = this.#clock.now().getTime() - transaction.startedAt;
      return ageMs < lifetimeMs ? transaction : undefined;
    }
    return undefined;
  }

  /**
   * Returns the names of the transaction cookies to remove to make room for `bytes`: invalid ones and the
   * oldest ones.
   */
  cookiesToEvict(cookies: ReadonlyMap<string, string>, bytes: number): string[] {
    const byAge = [...cookies]
      .map(([name, value]) => ({
        name,
        size: name.length + value.length,
        startedAt: this.open(name, value)?.startedAt ?? -1,
      }))
      .sort((a, b) => b.startedAt - a.startedAt);
    let total = bytes;
    return byAge
      .filter(({ size, startedAt }, index) => {
        total += size;
        return startedAt < 0 || index + 1 >= kept.transactions || total > kept.bytes;
      })
      .map(({ name }) => name);
  }
}

/** Returns the id in the cookie's name. It does not reveal the state, which is a secret. */
export function transactionIdOf(state: string): string {
  return createHash("sha256").update(state).digest("base64url").slice(0, 22);
}

function decrypt(key: Buffer, name: string, bytes: Buffer): unknown {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const text = Buffer.concat([
      decipher.update(bytes.subarray(ivBytes + tagBytes)),
      decipher.final(),
    ]).toString("utf8");
    return JSON.parse(text);
  } catch {
    return undefined; // Sealed with another key, or not by us. The next key may fit.
  }
}
