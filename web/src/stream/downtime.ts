/**
 * No try, with the pause before it, takes longer: 3 s for the relays, 35 s for the response, 15 s for the
 * connection, 8 s of pause, and some for timers of hidden pages.
 */
const longestTryMs = 75_000;

/**
 * For how long a stream could not be reached although it was tried: time in which the page stood still,
 * frozen or in a laptop that slept, does not count.
 */
export class Downtime {
  readonly #now: () => number;
  #sinceMs: number;
  #triedMs: number;

  /** `now` is in milliseconds of any origin. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sinceMs = this.#triedMs = now();
  }

  /** The stream was up until now, or is not expected yet. */
  restart(): void {
    this.#sinceMs = this.#now();
  }

  /** Returns the time, in milliseconds, now that another try has ended. */
  afterTry(): number {
    const now = this.#now();
    if (now - this.#triedMs > longestTryMs) this.#sinceMs = now;
    this.#triedMs = now;
    return now - this.#sinceMs;
  }
}
