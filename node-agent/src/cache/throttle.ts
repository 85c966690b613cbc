import type { Clock } from "#runtime/scheduling/clock.ts";

/** Slows a stream down to a rate that may change at any time. */
export interface Throttle {
  /** Resolves when `bytes` more may pass. */
  pass(bytes: number, signal: AbortSignal): Promise<void>;
}

/** A changed rate is noticed within this time. */
const sliceMs = 100;

/**
 * Returns a throttle. `rate` returns bytes per second: undefined for no limit, 0 for a pause. Bursts are at
 * most one second's worth.
 */
export function createThrottle(clock: Clock, rate: () => number | undefined): Throttle {
  let allowance = 0;
  let lastMs = clock.monotonicMs();

  function refill(perSecond: number): void {
    const now = clock.monotonicMs();
    allowance = Math.min(perSecond, allowance + ((now - lastMs) / 1000) * perSecond);
    lastMs = now;
  }

  return {
    async pass(bytes, signal) {
      for (;;) {
        const perSecond = rate();
        if (perSecond === undefined) return;
        refill(perSecond);
        // A piece may take the allowance below zero: the next ones then wait until the debt is paid.
        if (perSecond > 0 && allowance > 0) {
          allowance -= bytes;
          return;
        }
        await clock.sleep(sliceMs, signal);
      }
    },
  };
}
