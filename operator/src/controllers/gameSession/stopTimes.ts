import type { Clock } from "#runtime/clock.ts";

/**
 * Remembers when this process first saw each session stopping. What the API server notes of a stop is by its own clock, which may be minutes off;
 * an operator that takes a stop over from another one waits for it anew.
 */
export class StopTimes {
  readonly #clock: Clock;
  /** By session key. */
  readonly #seen = new Map<string, { uid: string; at: Date }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns when the stop was first seen, which is now for one that is new. */
  seenAt(key: string, uid: string): Date {
    const seen = this.#seen.get(key);
    if (seen?.uid === uid) return seen.at;
    const at = this.#clock.now();
    this.#seen.set(key, { uid, at });
    return at;
  }

  /** Forgets a session that has ended or is gone. */
  forget(key: string): void {
    this.#seen.delete(key);
  }
}
