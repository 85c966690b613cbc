import type { Clock } from "#runtime/scheduling/clock.ts";

/** Spaces the writes of unimportant changes, per key. */
export class Throttle {
  readonly #clock: Clock;
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the milliseconds until the key's last write is `intervalMs` old; 0 when it is. */
  waitMs(key: string, intervalMs: number): number {
    const last = this.#lastMs.get(key);
    return last === undefined ? 0 : Math.max(0, last + intervalMs - this.#clock.monotonicMs());
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
