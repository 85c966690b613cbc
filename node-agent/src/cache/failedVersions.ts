import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import { type BackOff, backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** The versions that could not be fetched, and when each is tried again. */
export class FailedVersions {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #attempts = new Map<string, Attempts>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns why the version's last attempt failed; undefined if no attempt has failed. */
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

  /** Forgets versions that are no longer wanted. */
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

/** Why a download failed: one of the reasons of a session's condition ContentReady. */
type FailureReason = (typeof contentReasons)[
  | "checksumMismatch"
  | "archiveRefused"
  | "storeUnreachable"
  | "sourceMissing"
  | "insufficientSpace"
  | "downloadFailed"];

/** How a download failed. */
export interface Failure {
  reason: FailureReason;
  message: string;
  /** The ETag of the object that was read; undefined if no object was read. */
  etag: string | undefined;
  /** Trying the same bytes again is of no use: their digest was right and they break the rules. */
  isFinal: boolean;
  /** The file system was full in spite of what had been set aside: others took it, or inodes lack. */
  ranOut?: boolean;
  /**
   * The inodes that were free as the attempt began, where they are what ran out: no more than these are too
   * few.
   */
  tooFewFiles?: number | undefined;
}

/** What is remembered of a version's failures. */
export interface Attempts {
  failures: number;
  /** Failures that blame the bytes rather than the way to them. */
  strikes: number;
  last: Failure;
  retryAtMs: number;
  /** The bytes behind this ETag are not tried again; a changed object is. */
  isQuarantined: boolean;
  /**
   * Its failure is reported only when it fails once more: the disk ran out for the first time and it is tried
   * again at once, or a launch wants what a fill could not get.
   */
  isUntold: boolean;
}

const backOff: BackOff = { baseMs: 1_000, maxMs: 60_000 };
const strikesAllowed = 3;
/** How often a quarantined object is looked at, to see whether it was replaced. */
export const quarantineCheckMs = 60_000;

/**
 * Returns the record of a version's failed downloads, with the time of the next attempt, after one more
 * failure.
 */
export function afterFailure(
  known: Attempts | undefined,
  failure: Failure,
  nowMs: number,
  random: () => number,
): Attempts {
  const failures = (known?.failures ?? 0) + 1;
  const blamesBytes =
    failure.reason === contentReasons.checksumMismatch || failure.reason === contentReasons.archiveRefused;
  const isSameObject = known?.last.etag === failure.etag;
  const strikes = blamesBytes ? (isSameObject ? (known?.strikes ?? 0) : 0) + 1 : (known?.strikes ?? 0);
  const isQuarantined = failure.isFinal || (blamesBytes && strikes >= strikesAllowed);
  const isUntold = failure.ranOut === true && known?.last.ranOut !== true;
  const waitMs = isQuarantined ? quarantineCheckMs : backOffMs(backOff, failures, random);
  return {
    failures,
    strikes,
    last: failure,
    retryAtMs: isUntold ? nowMs : nowMs + waitMs,
    isQuarantined,
    isUntold,
  };
}
