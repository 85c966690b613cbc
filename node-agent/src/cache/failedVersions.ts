import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import { type BackOff, backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** The versions that could not be fetched, and when each is retried. */
export class FailedVersions {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #attempts = new Map<string, Attempts>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns why the version's last attempt failed. Undefined if no attempt has failed. */
  lastFailure(digest: string): Failure | undefined {
    return this.#attempts.get(digest)?.last;
  }

  /** Returns why the version's last attempt failed, except a failure that is retried immediately. */
  reportableFailure(digest: string): Failure | undefined {
    const attempts = this.#attempts.get(digest);
    return attempts?.isUnreported === true ? undefined : attempts?.last;
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
   * Makes the version due immediately unless it is quarantined, because a player does not wait for the
   * back-off of a background fill. The fill's failure is not reported to the player, because a launch may
   * evict more than a fill.
   */
  retryNow(digest: string): void {
    const attempts = this.#attempts.get(digest);
    if (attempts === undefined || attempts.isQuarantined) return;
    attempts.retryAtMs = this.#clock.monotonicMs();
    attempts.isUnreported = true;
  }

  /** Returns whether the version must not be tried yet. */
  isWaiting(digest: string): boolean {
    const attempts = this.#attempts.get(digest);
    return attempts !== undefined && (attempts.isQuarantined || !this.#isDue(attempts));
  }

  /** Returns whether to check if a quarantined version was replaced. */
  isDueForCheck(digest: string): boolean {
    const attempts = this.#attempts.get(digest);
    return attempts?.isQuarantined === true && this.#isDue(attempts);
  }

  /**
   * Allows another attempt if the object was replaced since it was quarantined. `etag` is undefined if no
   * object was found.
   */
  check(digest: string, etag: string | undefined): void {
    const last = this.lastFailure(digest);
    if (last === undefined) return;
    if (etag !== undefined && etag !== last.etag) this.forget(digest);
    else this.add(digest, last);
  }

  /**
   * Returns the milliseconds until the next retry among versions not yet due at `sinceMs`. Negative for a
   * version that has become due since, undefined if there is none. Versions due by then are being tried or
   * wait for a download slot, so they need no timer.
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

/** A failed download attempt. */
export interface Failure {
  reason: FailureReason;
  message: string;
  /** The ETag of the object that was read. Undefined if no object was read. */
  etag: string | undefined;
  /** The same bytes need not be tried again: their digest is right and they violate the rules. */
  isFinal: boolean;
  /** The file system was full despite the reservation: something else took the space, or inodes ran out. */
  ranOut?: boolean;
  /** The free inodes at the start of the attempt, if inodes ran out. This many are not enough. */
  tooFewFiles?: number | undefined;
}

/** The recorded failures of a version. */
export interface Attempts {
  failures: number;
  /** Number of failures caused by the bytes rather than the transfer. */
  strikes: number;
  last: Failure;
  retryAtMs: number;
  /** The object with this ETag is not tried again. A changed object is. */
  isQuarantined: boolean;
  /**
   * The failure is reported only after another failure: the disk was full for the first time and the version
   * is retried immediately, or a launch retries a failed fill.
   */
  isUnreported: boolean;
}

const backOff: BackOff = { baseMs: 1_000, maxMs: 60_000 };
const strikesAllowed = 3;
/** Interval at which a quarantined object is checked for a replacement. */
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
  const isUnreported = failure.ranOut === true && known?.last.ranOut !== true;
  const waitMs = isQuarantined ? quarantineCheckMs : backOffMs(backOff, failures, random);
  return {
    failures,
    strikes,
    last: failure,
    retryAtMs: isUnreported ? nowMs : nowMs + waitMs,
    isQuarantined,
    isUnreported,
  };
}
