/** An exponential back-off: doubles from base to cap. */
export interface BackOff {
  baseMs: number;
  maxMs: number;
}

/**
 * Returns the wait before try number `failures` + 1, in milliseconds: exponential, with the upper half
 * random, so that many who failed together do not come back together and none comes back at once.
 */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, random: () => number): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 52));
  return full / 2 + (full / 2) * random();
}

/**
 * Returns `ms`, more or less by up to `share` of it at random, so that many who began together do not go on
 * together.
 */
export function jittered(ms: number, random: () => number, share = 0.5): number {
  return ms * (1 - share + 2 * share * random());
}
