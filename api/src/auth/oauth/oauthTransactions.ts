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
  /** Where to go afterwards; validated when the transaction began. */
  callbackUrl: z.string(),
  /** The sign-in whose user wants the identity linked, by the id of its row. */
  linkTo: z.string().optional(),
  /**
   * Whether that user has shown who they are: if not, only an identity that is theirs already signs them in
   * anew.
   */
  mayLink: z.boolean().optional(),
  /** Milliseconds of the epoch: several can begin in one second. */
  startedAt: z.int(),
});

/**
 * A sign-in at a provider, from leaving to coming back, as the browser keeps it: sealed, so that it can
 * neither be read nor forged.
 */
export type OAuthTransaction = z.infer<typeof Transaction>;

/** Seals and opens transactions, under a key for this purpose alone. */
export class OAuthTransactions {
  readonly #keys: Buffer[];
  readonly #clock: Clock;

  /** Of `signingKeys` the first signs, and all verify, as for the session tokens. */
  constructor(signingKeys: ReadonlyMap<string, Buffer>, clock: Clock) {
    this.#keys = [...signingKeys.values()].map((key) => deriveKey(key, "oauth"));
    this.#clock = clock;
  }

  /**
   * Returns the cookie's value, and when it expires. The cookie's name is sealed with it, so that no cookie
   * can be used as another.
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

  /** Returns the transaction in a cookie of ours that is not too old; undefined for anything else. */
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
   * Returns the names of the transaction cookies that make room for another one of `bytes`: the oldest ones,
   * and invalid ones.
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

/** Returns the id in the cookie's name: not the state itself, which is a secret. */
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
    return undefined; // Sealed by another key, or not by us: the next key may fit.
  }
}
