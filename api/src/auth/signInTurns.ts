import { BoundedQueue, type BoundedQueueOptions } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/** Maximum number of waiting sign-ins, maximum wait in milliseconds, and interval between retries. */
interface SignInTurnsOptions {
  waitingMax: number;
  deadlineMs: number;
  pauseMs: number;
}

/**
 * Sign-ins that wait until others from the same network or for the same e-mail address are decided. A result
 * in this process wakes them immediately; a result in another process is found by polling.
 */
export class SignInTurns {
  readonly #options: SignInTurnsOptions;
  readonly #callbacks = new Map<string, Set<() => void>>();
  #waiting = 0;

  constructor(options: SignInTurnsOptions) {
    this.#options = options;
  }

  /**
   * Calls `ask` until it returns a result, after each result under one of the names and at intervals.
   *
   * @throws unavailable when too many sign-ins wait, or the wait takes too long
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

  /** Wakes the sign-ins that wait for `name`, in order of arrival. */
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

/** Returns a queue that limits how many sign-ins query the stores at once. */
export function createSignInQueue(options: Omit<BoundedQueueOptions, "tooMany">): BoundedQueue {
  return new BoundedQueue({ ...options, tooMany: tooManySignIns });
}

/** Returns the error for too many concurrent sign-ins, which can be retried in a moment. */
export function tooManySignIns(): Error {
  return unavailable("Too many sign-ins right now. Try again in a moment.", undefined, 2);
}
