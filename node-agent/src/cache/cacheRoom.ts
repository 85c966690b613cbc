import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Downloads } from "./downloads.ts";
import type { Failure } from "./failedVersions.ts";
import { budgetBytes, type DiskSpace, shortageOf } from "./space.ts";
import type { UnpackedVersions } from "./unpackedVersions.ts";
import type { Wanted, WantedVersions } from "./wantedVersions.ts";

/** What the room is measured and made with. */
interface CacheRoomOptions {
  unpacked: UnpackedVersions;
  downloads: Downloads;
  wants: WantedVersions;
  /** 0 for 80 % of the file system. */
  budgetBytes: number;
  readDiskSpace: () => Promise<DiskSpace>;
  /** Digests that sessions or pods of this node use. */
  inUse: () => ReadonlySet<string>;
  onEvicted: (digest: string) => void;
  logger: Logger;
}

/** The room that unpacked versions have on the disk, and what of them goes to make more. */
export class CacheRoom {
  readonly #options: CacheRoomOptions;
  #disk: DiskSpace = { totalBytes: 0, freeBytes: 0, freeFiles: 0 };

  constructor(options: CacheRoomOptions) {
    this.#options = options;
  }

  /** Sees how full the disk is. */
  async look(): Promise<void> {
    this.#disk = await this.#options.readDiskSpace();
  }

  /** Bytes that unpacked versions may take. */
  get capacityBytes(): number {
    return budgetBytes(this.#options.budgetBytes, this.#disk);
  }

  /** Bytes left of them, and on the disk. */
  get freeBytes(): number {
    return Math.max(0, Math.min(this.capacityBytes - this.#usedBytes, this.#disk.freeBytes));
  }

  /** Returns the digests that must stay. */
  inUse(): Set<string> {
    return new Set([...this.#options.inUse(), ...this.#options.wants.demanded()]);
  }

  /**
   * Makes room for the given bytes of a version. Returns false and changes nothing if that is impossible.
   * `last`: how the last attempt failed, which may have found the disk full though there were bytes enough.
   */
  async make(
    bytes: number,
    wanted: Wanted,
    last?: Pick<Failure, "ranOut" | "tooFewFiles">,
  ): Promise<boolean> {
    // Before the look, as downloads go on meanwhile: what they write by then is missing on the disk, and does
    // not count as free for a moment.
    const { unwrittenBytes } = this.#options.downloads;
    await this.look();
    const request = {
      bytes,
      priority: wanted.isForLaunch ? undefined : wanted.priority,
      ranOut: last?.ranOut,
      tooFewFiles: last?.tooFewFiles,
    };
    const { freeFiles } = this.#disk;
    const diskFreeBytes = this.#disk.freeBytes - unwrittenBytes;
    const victims = chooseVictims(this.#evictables(), request, {
      usedBytes: this.#usedBytes,
      budgetBytes: this.capacityBytes,
      diskFreeBytes,
      freeFiles,
    });
    for (const { digest } of victims ?? []) {
      // While the former version was removed, a session may have asked for the next one, or a policy have
      // pinned it. So the next version to give up is chosen anew.
      if (!this.#mayGo(digest)) return this.make(bytes, wanted);
      // What the disk has got back by then the next try sees.
      if (!(await this.#evict(digest))) throw new Error("An evicted game is still on the disk.");
    }
    return victims !== undefined;
  }

  /**
   * Evicts versions, the least worth first, until saves have room. The agent does not touch anything else
   * that fills the disk. Returns whether it evicted any.
   */
  async relieve(): Promise<boolean> {
    await this.look();
    if (shortageOf(this.#disk, true) === undefined) return false;
    const victims = chooseRelief(this.#evictables(), limits.node.enoughFreeBytes - this.#disk.freeBytes);
    for (const { digest } of victims) if (this.#mayGo(digest)) await this.#evict(digest);
    return victims.length > 0;
  }

  get #usedBytes(): number {
    return this.#options.unpacked.occupiedBytes + this.#options.downloads.reservedBytes;
  }

  #mayGo(digest: string): boolean {
    return this.#evictables().some(
      (version) => version.digest === digest && !version.isInUse && !version.isPinned,
    );
  }

  /** Returns false where not all of its room is free yet. */
  async #evict(digest: string): Promise<boolean> {
    const isGone = await this.#options.unpacked.remove(digest);
    this.#options.logger.info({ digest }, "A game was evicted to make room.");
    this.#options.onEvicted(digest);
    return isGone;
  }

  #evictables(): Evictable[] {
    const { unpacked, wants } = this.#options;
    const inUse = new Set([...this.inUse(), ...unpacked.recentlyUsed()]);
    return unpacked.list().map(({ digest, bytes, occupiedBytes, lastUsedMs }) => {
      const desired = wants.desired(digest);
      return {
        digest,
        bytes,
        occupiedBytes,
        lastUsedMs,
        priority: desired?.priority,
        isPinned: desired?.pinned ?? false,
        isInUse: inUse.has(digest),
      };
    });
  }
}

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
interface RoomRequest {
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
interface Room {
  usedBytes: number;
  budgetBytes: number;
  /** Free on the file system, whoever uses it. */
  diskFreeBytes: number;
  /** Inodes. */
  freeFiles: number;
}

/** Above the high mark, space is freed down to the low mark, so not every download has to evict. */
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
