import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";
import { timerSleep } from "./timerSleep.ts";

interface Pending {
  dueMs: number;
  fire: () => void;
  timer: Timer;
}

/**
 * The machine's clock, which can be advanced: timers that become due by a jump fire immediately. Time passes
 * normally in between. It may also be skewed, like a clock without time synchronization, which affects the
 * time of day but not durations.
 */
export class JumpClock implements Clock {
  /** Milliseconds ahead of other clocks; negative if behind. */
  skewMs: number;
  #aheadMs = 0;
  readonly #pending = new Set<Pending>();

  constructor(skewMs = 0) {
    this.skewMs = skewMs;
  }

  now(): Date {
    return new Date(systemClock.now().getTime() + this.#aheadMs + this.skewMs);
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return timerSleep(this, ms, signal);
  }

  setTimer(ms: number, callback: () => void): Timer {
    const fire = (): void => {
      this.#pending.delete(pending);
      callback();
    };
    const pending: Pending = { dueMs: this.monotonicMs() + ms, fire, timer: systemClock.setTimer(ms, fire) };
    this.#pending.add(pending);
    return {
      cancel: () => {
        pending.timer.cancel();
        this.#pending.delete(pending);
      },
    };
  }

  /** Advances the clock. */
  jump(ms: number): void {
    this.#aheadMs += ms;
    const now = this.monotonicMs();
    for (const pending of [...this.#pending].sort((a, b) => a.dueMs - b.dueMs)) {
      pending.timer.cancel();
      if (pending.dueMs <= now) pending.fire();
      else pending.timer = systemClock.setTimer(pending.dueMs - now, pending.fire);
    }
  }
}
