import type { Clock } from "#runtime/scheduling/clock.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { withDeadline, orAborted } from "#runtime/scheduling/deadline.ts";
import { unavailable } from "../../errors.ts";

/**
 * How long a launch waits for those before it, each time that it has to: half as long as proxies wait for a
 * response. The page asks again under the same key. A shorter wait would not help: a page that is refused
 * earlier asks again, too, and makes the others wait for longer.
 */
export const launchPatienceMs = 30_000;
/** Launches that wait for the same reason at the same time in one process; further ones are refused. */
export const waitingLaunchesMax = 10_000;

/**
 * So many launches are stored and get their object at once: enough to keep the API server busy, and too few
 * for any of them to wait there beyond its deadline.
 */
const launchesAtOnce = 16;

/**
 * Lets launches wait in this process, where they hold no connection to the database meanwhile. A player's
 * launches wait for each other, so that all but the first find the first one's session. All players' launches
 * wait for one of the places among those that go on.
 */
export class LaunchTurns {
  readonly #clock: Clock;
  /**
   * By player: the end of the launches so far, which the next one waits for, with the result that it is told.
   */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #places = new BoundedQueue({
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
   * Runs `work` when the player's launches before it have ended, with the result of the last of those that it
   * waited for and that had one. Throws unavailable when that takes too long, or too many wait.
   */
  async ofPlayer<T>(userId: string, work: (before: T | undefined) => Promise<T>): Promise<T> {
    // All works return the same.
    const previous = this.#last.get(userId) as Promise<T | undefined> | undefined;
    const ended = Promise.withResolvers<T | undefined>();
    // A launch that gives up waiting must not let the next one pass those before it.
    const last = Promise.all([previous, ended.promise]).then(([before, own]) => own ?? before);
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
   * Runs `work`, which stores a session and makes its object, when few enough others do. Throws as ofPlayer
   * does.
   */
  inPlace<T>(work: () => Promise<T>): Promise<T> {
    return this.#places.run(work);
  }

  async #wait<T>(previous: Promise<T>): Promise<T> {
    if (this.#waiting >= waitingLaunchesMax) throw tooManyLaunches();
    this.#waiting++;
    try {
      const deadline = { clock: this.#clock, ms: launchPatienceMs, what: "Waiting for earlier launches" };
      return await withDeadline(deadline, (signal) => orAborted(previous, signal)).catch((cause: unknown) => {
        throw tooManyLaunches(cause);
      });
    } finally {
      this.#waiting--;
    }
  }
}

/** What a launch throws that would wait for longer, or with more. */
export function tooManyLaunches(cause?: unknown): Error {
  return unavailable("Too many games are starting right now. Try again in a moment.", cause);
}
