import type { Clock } from "#runtime/scheduling/clock.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { withDeadline, untilAborted } from "#runtime/scheduling/deadline.ts";
import { unavailable } from "../../errors.ts";

/**
 * How long a launch waits in each queue: half the response timeout of common proxies. The page retries with
 * the same idempotency key. A shorter wait would not help, because pages that are refused earlier retry
 * earlier and add to the load.
 */
export const launchPatienceMs = 30_000;
/** The length limit of each queue in one process; further launches are refused. */
export const waitingLaunchesMax = 10_000;

/**
 * How many launches are stored and created in the cluster at once: enough to keep the API server busy, too
 * few to exceed its request deadline.
 */
const launchesAtOnce = 16;

/**
 * Queues launches in memory, without holding database connections. Launches of one player run one after
 * another, so all but the first find the first one's session. Launches of all players share a concurrency
 * limit.
 */
export class LaunchQueue {
  readonly #clock: Clock;
  /** By player: resolves when all launches so far have ended, with the latest result. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #limiter = new BoundedQueue({
    concurrency: launchesAtOnce,
    waitingMax: waitingLaunchesMax,
    deadlineMs: launchPatienceMs,
    tooMany: tooManyLaunches,
  });
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `work` after the player's earlier launches have ended, with the latest result among them.
   *
   * @throws DomainError `unavailable` when the wait takes too long or too many launches wait.
   */
  async runAfterEarlier<T>(userId: string, work: (earlier: T | undefined) => Promise<T>): Promise<T> {
    // All work of this queue returns the same type.
    const previous = this.#last.get(userId) as Promise<T | undefined> | undefined;
    const ended = Promise.withResolvers<T | undefined>();
    // A launch that gives up waiting must not let the next one overtake earlier ones.
    const last = Promise.all([previous, ended.promise]).then(([earlier, result]) => result ?? earlier);
    this.#last.set(userId, last);
    try {
      const result = await work(previous === undefined ? undefined : await this.#wait(previous));
      ended.resolve(result);
      return result;
    } finally {
      ended.resolve(undefined);
      void last.then(() => {
        if (this.#last.get(userId) === last) this.#last.delete(userId);
      });
    }
  }

  /**
   * Runs `work` once a launch slot is free.
   *
   * @throws DomainError `unavailable` when the wait takes too long or too many launches wait.
   */
  runLimited<T>(work: () => Promise<T>): Promise<T> {
    return this.#limiter.run(work);
  }

  async #wait<T>(previous: Promise<T>): Promise<T> {
    if (this.#waiting >= waitingLaunchesMax) throw tooManyLaunches();
    this.#waiting++;
    try {
      const deadline = { clock: this.#clock, ms: launchPatienceMs, what: "Waiting for earlier launches" };
      return await withDeadline(deadline, (signal) => untilAborted(previous, signal)).catch(
        (cause: unknown) => {
          throw tooManyLaunches(cause);
        },
      );
    } finally {
      this.#waiting--;
    }
  }
}

/** Returns the error of a launch that would wait too long, or in too long a queue. */
export function tooManyLaunches(cause?: unknown): Error {
  return unavailable("Too many games are starting right now. Try again in a moment.", cause);
}
