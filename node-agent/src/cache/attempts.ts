import { contentReasons } from "#contracts/crd/reasons.ts";
import { backOffMs, type BackOff } from "#runtime/scheduling/backOff.ts";

/** Why a download failed: one of the reasons of a session's condition ContentReady. */
export type FailureReason = (typeof contentReasons)[
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
  /** The ETag of the object that was read; undefined when none was read. */
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

/** Returns what is remembered of a version after one more failure. */
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
