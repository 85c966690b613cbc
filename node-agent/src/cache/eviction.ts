import { limits } from "#contracts/limits.ts";

/** A version on the node, as far as eviction cares. */
export interface Evictable {
  digest: string;
  /** What the disk gets back at least. */
  bytes: number;
  /** What counts for the budget. */
  occupiedBytes: number;
  /** Undefined when no policy wants it here. */
  priority: number | undefined;
  isPinned: boolean;
  lastUsedMs: number;
  isInUse: boolean;
}

/** Why room is needed. */
export interface RoomRequest {
  bytes: number;
  /**
   * Undefined for a launch, which may push out anything not in use; a fill only what matters less than
   * itself.
   */
  priority: number | undefined;
  /**
   * The file system was full the last time, though there were bytes enough: it may lack inodes. Then one
   * version is removed, if any may be.
   */
  ranOut?: boolean | undefined;
  /**
   * So many free inodes were too few the last time. A fill that finds no more, and may push nothing out,
   * would only take all of them from saves once more.
   */
  tooFewFiles?: number | undefined;
}

/** Room that there is. */
export interface Room {
  usedBytes: number;
  budgetBytes: number;
  /** Free on the file system, whoever uses it. */
  diskFreeBytes: number;
  /** Inodes. */
  freeFiles: number;
}

/** Above the high mark, space is made down to the low one, so that not each download has to. */
const highWatermark = 0.9;
const lowWatermark = 0.8;
/**
 * Left free on the file system for saves and the agent itself by a launch; a fill leaves as much as sessions
 * need for their saves, lest it take its own node out of service.
 */
export const reserveBytes = 64 * 1024 * 1024;

/**
 * Returns the versions to remove so that the request fits, never one that is in use; undefined when it cannot
 * fit.
 */
export function chooseVictims(
  versions: readonly Evictable[],
  request: RoomRequest,
  room: Room,
): Evictable[] | undefined {
  const { budgetBytes } = room;
  const usedAfter = room.usedBytes + request.bytes;
  const reserve = request.priority === undefined ? reserveBytes : limits.node.enoughFreeBytes;
  const missingBytes = request.bytes + reserve - room.diskFreeBytes;
  const isCrowded = missingBytes > 0 || request.ranOut === true || usedAfter > highWatermark * budgetBytes;
  if (!isCrowded) return [];
  const victims: Evictable[] = [];
  // The disk may get back less than counts for the budget.
  let freed = 0;
  let uncounted = 0;
  const fits = (): boolean => freed >= missingBytes && uncounted >= usedAfter - budgetBytes;
  for (const version of byWorth(versions.filter((version) => mayEvict(version, request)))) {
    const isNeeded = !fits() || (request.ranOut === true && victims.length === 0);
    // Once the request fits, versions are removed only if nobody wants them.
    if (!isNeeded && (uncounted >= usedAfter - lowWatermark * budgetBytes || version.priority !== undefined))
      break;
    victims.push(version);
    freed += version.bytes;
    uncounted += version.occupiedBytes;
  }
  return fits() && (victims.length > 0 || !lacksFiles(request, room)) ? victims : undefined;
}

/**
 * Whether a fill would run out of inodes as it did before. A launch is tried all the same: a player waits for
 * it.
 */
function lacksFiles({ priority, tooFewFiles }: RoomRequest, { freeFiles }: Room): boolean {
  return priority !== undefined && tooFewFiles !== undefined && freeFiles <= tooFewFiles;
}

/**
 * Returns the versions to give up so that so many bytes get free, or all that may be given up where those are
 * fewer. It returns one at least, because inodes may be what the disk lacks.
 */
export function chooseRelief(versions: readonly Evictable[], missingBytes: number): Evictable[] {
  const victims: Evictable[] = [];
  let freed = 0;
  for (const version of byWorth(versions.filter(({ isInUse, isPinned }) => !isInUse && !isPinned))) {
    if (victims.length > 0 && freed >= missingBytes) break;
    victims.push(version);
    freed += version.bytes;
  }
  return victims;
}

function mayEvict(version: Evictable, request: RoomRequest): boolean {
  if (version.isInUse || version.isPinned) return false;
  if (version.priority === undefined || request.priority === undefined) return true;
  return version.priority < request.priority;
}

/**
 * Returns the versions least worth keeping first: not wanted by any policy, then lower priority, then longest
 * unused.
 */
function byWorth(versions: Evictable[]): Evictable[] {
  const rank = ({ priority }: Evictable): number => priority ?? Number.NEGATIVE_INFINITY;
  return versions.toSorted((left, right) => {
    const [leftRank, rightRank] = [rank(left), rank(right)];
    return leftRank === rightRank ? left.lastUsedMs - right.lastUsedMs : leftRank < rightRank ? -1 : 1;
  });
}
