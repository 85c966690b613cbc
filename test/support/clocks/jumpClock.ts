import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";
import { timerSleep } from "./timerSleep.ts";

interface Pending {
  dueMs: number;
  fire: () => void;
  timer: Timer;
}

/**
 * The machine's clock, which can be put forward: what falls due by a jump runs at once. Time passes by itself
 * in between. It may be off, too, as a machine's is that no time service sets right: that changes what it
 * says the time is, and not how long anything takes.
 */
export class JumpClock implements Clock {
  /** By how much it is ahead of the others', or behind them when negative. */
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

  /** Puts the clock forward. */
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
