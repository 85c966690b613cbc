import { setTimeout as delay } from "node:timers/promises";

/** A timer. Cancelling it twice has no effect. */
export interface Timer {
  cancel(): void;
}

/** A clock. Programs use `systemClock`; unit tests use a manual clock. */
export interface Clock {
  /** Wall-clock time, for values that other programs read. */
  now(): Date;
  /** Monotonic time in milliseconds, for intervals and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`. Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`, unless it is cancelled. */
  setTimer(ms: number, callback: () => void): Timer;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
  setTimer: (ms, callback) => {
    const handle = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Sleeps like Clock.sleep, but returns false if the signal is aborted first. */
export async function sleepUntilAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
