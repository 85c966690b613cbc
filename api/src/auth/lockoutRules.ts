/**
 * An attempt whose result is not reported for this long has died with its process: others wait no longer for
 * it.
 */
export const undecidedMs = 15_000;

/** When failures lock, and for how long. */
export interface LockoutRules {
  failures: number;
  windowMs: number;
  lockMs: readonly number[];
  memoryMs: number;
  /** For how long an attempt is waited for. */
  undecidedMs: number;
}
