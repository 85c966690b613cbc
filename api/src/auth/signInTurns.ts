import { tooManySignIns } from "./signInQueue.ts";

/** How many sign-ins may wait, for how many milliseconds, and how long one pauses before it asks again by itself. */
export interface SignInTurnsOptions {
  waitingMax: number;
  deadlineMs: number;
  pauseMs: number;
}

/**
 * Sign-ins that wait until others for the same e-mail address are decided. A result of this process wakes them at once; a result of another process
 * is found by asking.
 */
export class SignInTurns {
  readonly #options: SignInTurnsOptions;
  readonly #callbacks = new Map<string, Set<() => void>>();
  #waiting = 0;

  constructor(options: SignInTurnsOptions) {
    this.#options = options;
  }

  /** Waits and asks until there is a result, which it returns. Throws unavailable when too many wait, or when it has waited too long. */
  async take<T>(name: string, ask: () => Promise<T | undefined>): Promise<T> {
    const { waitingMax, deadlineMs } = this.#options;
    if (this.#waiting >= waitingMax) throw tooManySignIns();
    this.#waiting += 1;
    try {
      const endMs = performance.now() + deadlineMs;
      while (performance.now() < endMs) {
        await this.#pause(name);
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

  async #pause(name: string): Promise<void> {
    const callbacks = this.#callbacks.get(name) ?? new Set();
    this.#callbacks.set(name, callbacks);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const resume = (): void => resolve(undefined);
    const timer = setTimeout(resume, this.#options.pauseMs * (1 + Math.random()));
    callbacks.add(resume);
    await promise;
    clearTimeout(timer);
    callbacks.delete(resume);
    if (callbacks.size === 0 && this.#callbacks.get(name) === callbacks) this.#callbacks.delete(name);
  }
}
