import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { DesiredContent } from "#contracts/crd/gameNode.ts";

/**
 * A wanted version, possibly on hold: other nodes fetch it first, its fill is suspended, or it is a previous
 * version that is only kept where it exists.
 */
export interface WantedOrHeld extends Wanted {
  isHeld: boolean;
}

/** The versions that policies want on this node or sessions wait for. */
export class WantedVersions {
  #desired: readonly DesiredContent[] = [];
  /** The version that each session waits for, by session. */
  readonly #demands = new Map<string, ArchiveSource>();

  /** Replaces the versions that the policies want. */
  setDesired(desired: readonly DesiredContent[]): void {
    this.#desired = desired;
  }

  /** Returns the policies' request for a version. Undefined if they do not want it. */
  desired(digest: string): DesiredContent | undefined {
    return this.#desired.find((content) => content.digest === digest);
  }

  /** Records that a session waits for the version. Returns false if that was already known. */
  demand(gameSession: string, source: ArchiveSource): boolean {
    const known = this.#demands.get(gameSession);
    this.#demands.set(gameSession, source);
    return known?.sha256 !== source.sha256;
  }

  release(gameSession: string): void {
    this.#demands.delete(gameSession);
  }

  /** Returns the digests that sessions wait for. */
  demanded(): string[] {
    return [...this.#demands.values()].map(({ sha256 }) => sha256);
  }

  /** Returns each version that may be fetched now, once. */
  list(): Wanted[] {
    return this.listWithHeld().filter(({ isHeld }) => !isHeld);
  }

  /**
   * Returns each version once, including those on hold. A session's demand counts as a launch, with the
   * policy's priority.
   */
  listWithHeld(): WantedOrHeld[] {
    const wanted = new Map<string, WantedOrHeld>();
    for (const { digest, source, priority, pinned, hold } of this.#desired) {
      wanted.set(digest, { digest, source, isForLaunch: false, priority, isPinned: pinned, isHeld: hold });
    }
    for (const source of this.#demands.values()) {
      const { priority = 0, isPinned = false } = wanted.get(source.sha256) ?? {};
      wanted.set(source.sha256, {
        digest: source.sha256,
        source,
        isForLaunch: true,
        priority,
        isPinned,
        isHeld: false,
      });
    }
    return [...wanted.values()];
  }
}

/** A version that is wanted on this node and not there yet. */
export interface Wanted {
  digest: string;
  source: ArchiveSource;
  /** Whether a session waits for it. */
  isForLaunch: boolean;
  /** Priority of the policy that wants it. Launches go before all policies. */
  priority: number;
  isPinned: boolean;
}

/** A running download. */
interface Running {
  digest: string;
  /** Whether it was started for a launch, or a session has requested the same version since. */
  isForLaunch: boolean;
}

/**
 * Concurrency limit of launch downloads. They share the network bandwidth, so more would only delay each of
 * them.
 */
const launchesAtOnce = 4;
const fillsAtOnce = 1;

/**
 * Returns the downloads to start now: launches in the order of their requests, in parallel to a running fill.
 * Without launches, one fill: the one with the highest priority, and among equals a pinned one.
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
