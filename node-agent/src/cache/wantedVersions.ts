import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { DesiredContent } from "#contracts/crd/gameNode.ts";

/**
 * A wanted version, which may be on hold: other nodes are to fetch it first, its fill is suspended, or it is
 * a former one that is only kept where it is.
 */
export interface WantedOrHeld extends Wanted {
  isHeld: boolean;
}

/** The versions that policies want on this node or sessions wait for. */
export class WantedVersions {
  #desired: readonly DesiredContent[] = [];
  /** By session: what it waits for. */
  readonly #demands = new Map<string, ArchiveSource>();

  /** Replaces what the policies want. */
  setDesired(desired: readonly DesiredContent[]): void {
    this.#desired = desired;
  }

  /** Returns the policies' request for a version; undefined if they do not want it. */
  desired(digest: string): DesiredContent | undefined {
    return this.#desired.find((content) => content.digest === digest);
  }

  /** Notes that a session waits for the version; returns false when that was known. */
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
   * Returns each version once, those on hold too; a session's demand counts as a launch, at the policy's
   * priority.
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
interface Running {
  digest: string;
  /** As it was started, or since a session has asked for the same version. */
  isForLaunch: boolean;
}

/** Launches share the network bandwidth: more at once would only delay each of them. */
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
