import { backOffMs, type BackOff } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { isTemporary, ServerError } from "./serverError.ts";

/** What retries need. */
export interface RetryContext {
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  /** Tells the person that something is tried again. */
  onRetry: (error: Error, delayMs: number) => void;
}

const backOff: BackOff = { baseMs: 1000, maxMs: 30_000 };
/** A longer wait than this is reported instead of waited for. */
const retryAfterMaxSeconds = 120;

/**
 * Runs `work` again after a temporary failure, with a growing delay, or the one that the server asks for.
 *
 * @throws The last error
 */
export async function withRetries<T>(
  { clock, random, signal, onRetry }: RetryContext,
  attempts: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = delayOf(error, failures, random);
      if (!(error instanceof Error) || delayMs === undefined || failures >= attempts) throw error;
      onRetry(error, delayMs);
      await clock.sleep(delayMs, signal);
    }
  }
}

/** Returns undefined if a retry is useless, or would take too long. */
function delayOf(error: unknown, failures: number, random: () => number): number | undefined {
  if (!isTemporary(error)) return undefined;
  const wanted = error instanceof ServerError ? (error.retryAfterSeconds ?? 0) : 0;
  if (wanted > retryAfterMaxSeconds) return undefined;
  return Math.max(wanted * 1000, backOffMs(backOff, failures, random));
}
