import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { timerSleep } from "./timerSleep.ts";

/** A clock that advances only on request. */
export class FakeClock implements Clock {
  #elapsedMs = 0;
  readonly #startedAt: Date;
  readonly #timers = new Set<{ dueMs: number; callback: () => void }>();

  constructor(startedAt = new Date("2030-01-01T00:00:00Z")) {
    this.#startedAt = startedAt;
  }

  now(): Date {
    return new Date(this.#startedAt.getTime() + this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** Number of pending timers, to check that none is left. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return timerSleep(this, ms, signal);
  }

  setTimer(ms: number, callback: () => void): Timer {
    const timer = { dueMs: this.#elapsedMs + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Advances time. Due timers fire in order, and promises settle in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await settle();
    for (;;) {
      const [next] = [...this.#timers]
        .filter(({ dueMs }) => dueMs <= endMs)
        .sort((a, b) => a.dueMs - b.dueMs);
      if (!next) break;
      this.#timers.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#elapsedMs = endMs;
    await settle();
  }
}

/** Waits until all resolved promises have been processed. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
