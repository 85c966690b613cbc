import type { Clock } from "#runtime/clock.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/deadline.ts";
import type { Logger } from "#runtime/logger.ts";
import { unavailable, type DomainError } from "../errors.ts";
import { isDatabaseUnavailable } from "./databaseUnavailable.ts";

/** How long the database may take for what can be had without it. */
const patienceMs = 1_000;
/** During an outage one question in this time finds out whether it is over; the others are spared the wait. */
const retryMs = 1_000;

/**
 * Knows whether the database can be asked just now, for the few questions that something else can answer meanwhile: what keeps a game that is
 * played from being ended. A server that froze takes seconds to be noticed by a statement's own timeout, and would hold each of them up.
 */
export class DatabaseOutages {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Set while the last question failed. */
  #outage: { cause: DomainError; nextTryMs: number } | undefined;

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Returns what the database answers, or what `instead` makes of the reason why it does not: that is an `unavailable`, to be thrown where nothing
   * else knows. Other errors of the question are thrown. A question that was given up may still be done.
   */
  async orElse<T>(ask: () => Promise<T>, instead: (unavailable: DomainError) => T | Promise<T>): Promise<T> {
    const outage = this.#outage;
    if (outage !== undefined) {
      if (this.#clock.monotonicMs() < outage.nextTryMs) return instead(outage.cause);
      outage.nextTryMs = this.#clock.monotonicMs() + retryMs;
    }
    try {
      const response = await withTimeout(ask(), patienceMs, "The database", this.#clock);
      this.#end();
      return response;
    } catch (error) {
      if (!(error instanceof DeadlineExceeded) && !isDatabaseUnavailable(error)) throw error;
      return instead(this.#begin(error));
    }
  }

  #begin(error: unknown): DomainError {
    const cause = unavailable("The service is not available just now: try again in a moment.", error);
    if (this.#outage === undefined) this.#logger.warn({ err: error }, "The database is unavailable; sessions that run are kept alive by their objects in the cluster meanwhile.");
    this.#outage = { cause, nextTryMs: this.#clock.monotonicMs() + retryMs };
    return cause;
  }

  #end(): void {
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#logger.info({}, "The database is available again.");
  }
}
