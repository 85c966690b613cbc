import type { Clock } from "#runtime/clock.ts";
import { orAborted, withDeadline } from "#runtime/deadline.ts";
import { BoundedQueue } from "#runtime/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/**
 * How long a launch waits for those before it, each time that it has to: half as long as proxies do. A page asks again under the same key meanwhile, and who is
 * refused earlier asks again, too, and makes the others wait for longer.
 */
export const launchPatienceMs = 30_000;
/** Launches that wait for the same reason at the same time in one process; further ones are refused. */
export const waitingLaunchesMax = 10_000;

/** So many are stored and get their object at once: enough to keep the API server busy, and not so many that each of them waits there for longer than it is given. */
const launchesAtOnce = 16;

/**
 * Lets launches wait here, where that costs no connection to the database: those of one player for each other, so that all but the first find the first
 * one's session, and all for a place among those that go on.
 */
export class LaunchTurns {
  readonly #clock: Clock;
  /** By player: what the next one waits for, and is told. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #places = new BoundedQueue({ concurrency: launchesAtOnce, waitingMax: waitingLaunchesMax, deadlineMs: launchPatienceMs, tooMany: tooManyLaunches });
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `work` when the player's launches before it have ended, with the result of the last of those that it waited for and that had one. Throws
   * unavailable when that takes too long, or too many wait.
   */
  async ofPlayer<T>(userId: string, work: (before: T | undefined) => Promise<T>): Promise<T> {
    // All works return the same.
    const previous = this.#last.get(userId) as Promise<T | undefined> | undefined;
    const ended = Promise.withResolvers<T | undefined>();
    // Who gives up waiting must not let the next one past those before.
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

  /** Runs `work`, which stores a session and makes its object, when few enough others do. Throws as ofPlayer does. */
  inPlace<T>(work: () => Promise<T>): Promise<T> {
    return this.#places.run(work);
  }

  async #wait<T>(previous: Promise<T>): Promise<T> {
    if (this.#waiting >= waitingLaunchesMax) throw tooManyLaunches();
    this.#waiting++;
    try {
      const deadline = { clock: this.#clock, ms: launchPatienceMs, what: "Waiting for other launches" };
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
  return unavailable("Very many players launch games just now: try again in a moment.", cause);
}
