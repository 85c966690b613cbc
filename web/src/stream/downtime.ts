/**
 * No attempt takes longer, including the pause before it: 3 s for the relays, 35 s for the response, 15 s for
 * the connection, 8 s of pause, and some for timers of hidden pages.
 */
const longestTryMs = 75_000;

/**
 * Measures how long a stream could not be reached despite attempts. Time in which the page was frozen, or the
 * laptop asleep, does not count.
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

  /** Restarts the measurement: the stream was up until now, or is not expected yet. */
  restart(): void {
    this.#sinceMs = this.#now();
  }

  /** Returns the downtime in milliseconds after another failed attempt. */
  afterTry(): number {
    const now = this.#now();
    if (now - this.#triedMs > longestTryMs) this.#sinceMs = now;
    this.#triedMs = now;
    return now - this.#sinceMs;
  }
}
