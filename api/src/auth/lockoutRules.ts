/** When failures lock, and for how long. */
export interface LockoutRules {
  failures: number;
  windowMs: number;
  lockMs: readonly number[];
  memoryMs: number;
  /** An attempt that is not reported for this long has died with its process: nobody waits for it. */
  undecidedMs: number;
}
