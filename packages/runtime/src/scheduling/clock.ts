import { setTimeout as delay } from "node:timers/promises";

/** A timer that has been set; cancelling it twice is harmless. */
export interface Timer {
  cancel(): void;
}

/** Time as the programs see it; they pass `systemClock`, unit tests a clock they move by hand. */
export interface Clock {
  /** Wall-clock time, for what other programs read. */
  now(): Date;
  /** Milliseconds that never run backwards, for intervals and deadlines. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms` unless cancelled. */
  setTimer(ms: number, callback: () => void): Timer;
}

/** The machine's own clock. */
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

/** Sleeps like Clock.sleep; returns false when the signal was aborted first. */
export async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
