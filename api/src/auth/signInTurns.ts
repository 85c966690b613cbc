import { BoundedQueue, type BoundedQueueOptions } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/**
 * How many sign-ins may wait, for how many milliseconds, and how long one pauses before it asks again by
 * itself.
 */
interface SignInTurnsOptions {
  waitingMax: number;
  deadlineMs: number;
  pauseMs: number;
}

/**
 * Sign-ins that wait until others of the same network, or for the same e-mail address, are decided. A result
 * of this process wakes them at once; a result of another process is found by asking.
 */
export class SignInTurns {
  readonly #options: SignInTurnsOptions;
  readonly #callbacks = new Map<string, Set<() => void>>();
  #waiting = 0;

  constructor(options: SignInTurnsOptions) {
    this.#options = options;
  }

  /**
   * Waits for any of the names and asks until there is a result, which it returns. Throws unavailable when
   * too many wait, or when it has waited too long.
   */
  async take<T>(names: readonly string[], ask: () => Promise<T | undefined>): Promise<T> {
    const { waitingMax, deadlineMs } = this.#options;
    if (this.#waiting >= waitingMax) throw tooManySignIns();
    this.#waiting += 1;
    try {
      const endMs = performance.now() + deadlineMs;
      while (performance.now() < endMs) {
        await this.#pause(names);
        const result = await ask();
        if (result !== undefined) return result;
      }
      throw tooManySignIns();
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Wakes the sign-ins that wait for `name`, in the order in which they came. */
  call(name: string): void {
    for (const resume of this.#callbacks.get(name) ?? []) resume();
  }

  async #pause(names: readonly string[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const resume = (): void => resolve(undefined);
    for (const name of names) this.#callbacks.set(name, (this.#callbacks.get(name) ?? new Set()).add(resume));
    const timer = setTimeout(resume, this.#options.pauseMs * (1 + Math.random()));
    await promise;
    clearTimeout(timer);
    for (const name of names) {
      const callbacks = this.#callbacks.get(name);
      callbacks?.delete(resume);
      if (callbacks?.size === 0) this.#callbacks.delete(name);
    }
  }
}

/** Returns a queue that limits how many sign-ins use the stores at once. */
export function createSignInQueue(options: Omit<BoundedQueueOptions, "tooMany">): BoundedQueue {
  return new BoundedQueue({ ...options, tooMany: tooManySignIns });
}

/** Returns the error for a sign-in that found too many others: it may be repeated in a moment. */
export function tooManySignIns(): Error {
  return unavailable("Too many sign-ins right now. Try again in a moment.", undefined, 2);
}
