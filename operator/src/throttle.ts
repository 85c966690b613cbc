import type { Clock } from "#runtime/scheduling/clock.ts";

/** Rate-limits writes of minor changes, per key. */
export class Throttle {
  readonly #clock: Clock;
  readonly #lastMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the milliseconds until the key's last write is `intervalMs` old; 0 if it is older. */
  waitMs(key: string, intervalMs: number): number {
    const last = this.#lastMs.get(key);
    return last === undefined ? 0 : Math.max(0, last + intervalMs - this.#clock.monotonicMs());
  }

  /** Records a write of the key. */
  written(key: string): void {
    this.#lastMs.set(key, this.#clock.monotonicMs());
  }

  /** Forgets a deleted key. */
  forget(key: string): void {
    this.#lastMs.delete(key);
  }
}
