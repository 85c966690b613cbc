import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

export interface EventuallyOptions {
  /** How long to keep trying, in milliseconds. */
  timeoutMs?: number;
  /**
   * Pause between tries, in milliseconds. Default: a tenth of the time waited so far, 10 to 100.
   */
  intervalMs?: number;
  /** What is being waited for, for the failure's first line. */
  what?: string;
}

/**
 * Repeats `attempt` until it neither throws nor returns undefined or false, and returns its value. Fails at
 * the deadline with the last value or error seen.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs, what = "the expected state" }: EventuallyOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const began = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (isSettled(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - began;
    if (waitedMs >= timeoutMs) {
      throw new Error(`Gave up waiting for ${what} after ${timeoutMs} ms; last seen: ${describe(last)}`, {
        cause: last,
      });
    }
    await delay(intervalMs ?? Math.min(Math.max(waitedMs / 10, 10), 100));
  }
}

function isSettled<T>(value: T): value is Exclude<T, undefined | false> {
  return value !== undefined && value !== false;
}

function describe(value: unknown): string {
  return value instanceof Error ? value.message : inspect(value, { breakLength: Infinity });
}
