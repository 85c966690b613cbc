import type { Clock } from "#runtime/clock.ts";

/** Spaces the writes of unimportant changes, per key. */
export class Throttle {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** Returns the milliseconds until the key may be written again; 0 when it may be now. */
  waitMs(key: string): number {
    const last = this.#lastMs.get(key);
    return last === undefined ? 0 : Math.max(0, last + this.#intervalMs - this.#clock.monotonicMs());
  }

  /** Notes that the key was written just now. */
  written(key: string): void {
    this.#lastMs.set(key, this.#clock.monotonicMs());
  }

  /** Forgets a key that is gone. */
  forget(key: string): void {
    this.#lastMs.delete(key);
  }
}
