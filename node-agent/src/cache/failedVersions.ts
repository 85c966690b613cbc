import type { Clock } from "#runtime/scheduling/clock.ts";
import { afterFailure, type Attempts, type Failure } from "./attempts.ts";

/** The versions that could not be fetched, and when each is tried again. */
export class FailedVersions {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #attempts = new Map<string, Attempts>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns why the version's last attempt failed; undefined when none has. */
  lastFailure(digest: string): Failure | undefined {
    return this.#attempts.get(digest)?.last;
  }

  /**
   * Returns why the version's last attempt failed, but not a failure after which it is tried again at once.
   */
  failureToTell(digest: string): Failure | undefined {
    const attempts = this.#attempts.get(digest);
    return attempts?.isUntold === true ? undefined : attempts?.last;
  }

  add(digest: string, failure: Failure): void {
    this.#attempts.set(
      digest,
      afterFailure(this.#attempts.get(digest), failure, this.#clock.monotonicMs(), this.#random),
    );
  }

  forget(digest: string): void {
    this.#attempts.delete(digest);
  }

  /** Forgets the versions that nobody wants any more. */
  keepOnly(digests: ReadonlySet<string>): void {
    for (const digest of this.#attempts.keys()) if (!digests.has(digest)) this.#attempts.delete(digest);
  }

  /**
   * Makes the version due at once, unless it is quarantined: a player does not wait for the back-off of a
   * background fill. Nor is the player told how that failed: a fill may not push out what a launch may.
   */
  retryNow(digest: string): void {
    const attempts = this.#attempts.get(digest);
    if (attempts === undefined || attempts.isQuarantined) return;
    attempts.retryAtMs = this.#clock.monotonicMs();
    attempts.isUntold = true;
  }

  /** Returns whether the version must not be tried yet. */
  isWaiting(digest: string): boolean {
    const attempts = this.#attempts.get(digest);
    return attempts !== undefined && (attempts.isQuarantined || !this.#isDue(attempts));
  }

  /** Returns whether it is time to see if a version that was given up was replaced. */
  isDueForCheck(digest: string): boolean {
    const attempts = this.#attempts.get(digest);
    return attempts?.isQuarantined === true && this.#isDue(attempts);
  }

  /**
   * Lets an object be tried again that was replaced since it was given up; `etag` is undefined when none was
   * found.
   */
  check(digest: string, etag: string | undefined): void {
    const last = this.lastFailure(digest);
    if (last === undefined) return;
    if (etag !== undefined && etag !== last.etag) this.forget(digest);
    else this.add(digest, last);
  }

  /**
   * Returns the milliseconds until the next version is due that was not yet due at `sinceMs`: negative for
   * one that has become due since. Undefined when there is none. A version that was due by then is being
   * tried, or waits for a place among the downloads, and not for a time.
   */
  msToNextTry(sinceMs: number): number | undefined {
    const times = [...this.#attempts.values()]
      .map(({ retryAtMs }) => retryAtMs)
      .filter((retryAtMs) => retryAtMs > sinceMs);
    return times.length === 0 ? undefined : Math.min(...times) - this.#clock.monotonicMs();
  }

  #isDue({ retryAtMs }: Attempts): boolean {
    return retryAtMs <= this.#clock.monotonicMs();
  }
}
