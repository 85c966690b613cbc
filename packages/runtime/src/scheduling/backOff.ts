/** An exponential backoff that doubles from base to maximum. */
export interface BackOff {
  baseMs: number;
  maxMs: number;
}

/**
 * Returns the delay in milliseconds before attempt `failures` + 1: exponential, with the upper half random,
 * so that clients that failed together do not retry together or immediately.
 */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, random: () => number): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 52));
  return full / 2 + (full / 2) * random();
}

/**
 * Returns `ms` with random jitter of up to `share`, so that processes that started together do not stay
 * synchronized.
 */
export function jittered(ms: number, random: () => number, share = 0.5): number {
  return ms * (1 - share + 2 * share * random());
}
