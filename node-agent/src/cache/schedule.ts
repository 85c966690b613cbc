import type { ArchiveSource } from "#contracts/crd/gameCache.ts";

/** A version that somebody wants on this node and that is not there yet. */
export interface Wanted {
  digest: string;
  source: ArchiveSource;
  /** A session waits for it. */
  isForLaunch: boolean;
  /** The priority of the policy that wants it. Launches go before all policies. */
  priority: number;
  isPinned: boolean;
}

/** A download under way. */
export interface Running {
  digest: string;
  /** As it was started, or since a session has asked for the same version. */
  isForLaunch: boolean;
}

/** Launches share the line; more at once would only make each of them later. */
const launchesAtOnce = 4;
const fillsAtOnce = 1;

/**
 * Returns what to start now: launches in the order in which they were asked for, beside whatever fill is
 * running. Without launches, one fill: the one of the highest priority, and of several such a pinned one
 * first.
 */
export function chooseDownloads(wanted: readonly Wanted[], running: readonly Running[]): Wanted[] {
  const idle = wanted.filter(({ digest }) => !running.some((other) => other.digest === digest));
  const launchesRunning = running.filter(({ isForLaunch }) => isForLaunch).length;
  const launches = idle
    .filter(({ isForLaunch }) => isForLaunch)
    .slice(0, Math.max(0, launchesAtOnce - launchesRunning));
  const isBusy = launches.length > 0 || launchesRunning > 0;
  const fills = idle
    .filter(({ isForLaunch }) => !isForLaunch)
    .sort((left, right) => right.priority - left.priority || Number(right.isPinned) - Number(left.isPinned));
  const fillsRunning = running.length - launchesRunning;
  return isBusy ? launches : fills.slice(0, Math.max(0, fillsAtOnce - fillsRunning));
}
