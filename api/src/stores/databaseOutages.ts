import type { Clock } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/scheduling/deadline.ts";
import type { Logger } from "#runtime/logger.ts";
import { unavailable, type DomainError } from "../errors.ts";
import { isDatabaseUnavailable } from "./databaseUnavailable.ts";

/** How long the database may take for what can be had without it. */
const patienceMs = 1_000;
/**
 * During an outage one question in this time finds out whether it is over; the others are spared the wait.
 */
const retryMs = 1_000;

/**
 * Knows whether the database can be asked just now, for the few questions that something else can answer
 * meanwhile: those that keep a game from being ended while it is played. A server that froze is noticed only
 * by a statement's own timeout, after seconds, which would hold up each of these questions.
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
   * Returns what the database answers. When it does not answer, returns what `instead` makes of the reason:
   * an `unavailable`, to be thrown where nothing else knows. Throws other errors of the question. A question
   * that was given up may still be done.
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
    if (this.#outage === undefined)
      this.#logger.warn(
        { err: error },
        "The database is unavailable; sessions that run are kept alive by their objects in the cluster meanwhile.",
      );
    this.#outage = { cause, nextTryMs: this.#clock.monotonicMs() + retryMs };
    return cause;
  }

  #end(): void {
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#logger.info({}, "The database is available again.");
  }
}
