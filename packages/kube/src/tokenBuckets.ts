import type { Clock } from "#runtime/clock.ts";

export interface TokenBucketsOptions {
  clock: Clock;
  /** Tokens a full bucket holds. */
  size: number;
  /** One token comes back each so many milliseconds. */
  refillMs: number;
  /** Buckets remembered; the one unused for longest is forgotten first. */
  maxBuckets: number;
}

/** One token bucket per key: bursts are allowed, a steady flow is held to the refill rate. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(options: TokenBucketsOptions) {
    this.#options = options;
  }

  /** Takes a token of the key's bucket; false when it is empty. */
  take(key: string): boolean {
    const { clock, size, refillMs, maxBuckets } = this.#options;
    const now = clock.monotonicMs();
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: size, atMs: now };
    const filled = Math.min(size, tokens + (now - atMs) / refillMs);
    const isTaken = filled >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: isTaken ? filled - 1 : filled, atMs: now });
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > maxBuckets && oldest.done !== true) this.#buckets.delete(oldest.value);
    return isTaken;
  }
}
