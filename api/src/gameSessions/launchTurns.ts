import type { Clock } from "#runtime/clock.ts";
import { orAborted, withDeadline } from "#runtime/deadline.ts";
import { unavailable } from "../errors.ts";

/** How long a launch waits for those before it. */
const patienceMs = 15_000;
/** Launches that wait at the same time in one process; further ones are refused. */
const waitingMax = 10_000;

/**
 * Lets launches wait for each other here, where that costs no connection to the database: those of one player, so that all but the first find
 * the first one's session, and all that are about to be stored, so that one of them and not ten wait for the other processes'.
 */
export class LaunchTurns {
  readonly #clock: Clock;
  /** By player, and undefined for all: what the next one waits for, and is told. */
  readonly #last = new Map<string | undefined, Promise<unknown>>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `work` when the player's launches before it have ended, with the result of the last of those that it waited for and that had one. Throws
   * unavailable when that takes too long, or too many wait.
   */
  ofPlayer<T>(userId: string, work: (before: T | undefined) => Promise<T>): Promise<T> {
    return this.#inTurn(userId, work);
  }

  /** Runs `work`, which stores a session, when all before it have ended. Throws as ofPlayer does. */
  toStore<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(undefined, work);
  }

  async #inTurn<T>(key: string | undefined, work: (before: T | undefined) => Promise<T>): Promise<T> {
    // All works of one key return the same.
    const previous = this.#last.get(key) as Promise<T | undefined> | undefined;
    const ended = Promise.withResolvers<T | undefined>();
    // Who gives up waiting must not let the next one past those before.
    const last = Promise.all([previous, ended.promise]).then(([before, own]) => own ?? before);
    this.#last.set(key, last);
    try {
      const result = await work(previous === undefined ? undefined : await this.#wait(previous));
      ended.resolve(result);
      return result;
    } finally {
      ended.resolve(undefined);
      void last.then(() => {
        if (this.#last.get(key) === last) this.#last.delete(key);
      });
    }
  }

  async #wait<T>(previous: Promise<T>): Promise<T> {
    if (this.#waiting >= waitingMax) throw tooMany();
    this.#waiting++;
    try {
      const deadline = { clock: this.#clock, ms: patienceMs, what: "Waiting for other launches" };
      return await withDeadline(deadline, (signal) => orAborted(previous, signal)).catch((cause: unknown) => {
        throw tooMany(cause);
      });
    } finally {
      this.#waiting--;
    }
  }
}

function tooMany(cause?: unknown): Error {
  return unavailable("Very many players launch games just now: try again in a moment.", cause);
}
