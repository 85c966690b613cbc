/** When failures lock, and for how long. */
export interface LockoutRules {
  failures: number;
  windowMs: number;
  lockMs: readonly number[];
  memoryMs: number;
}
