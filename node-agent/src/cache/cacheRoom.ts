import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Downloads } from "./downloads.ts";
import type { Failure } from "./failedVersions.ts";
import { budgetBytes, type DiskSpace, shortageOf } from "./space.ts";
import type { UnpackedVersions } from "./unpackedVersions.ts";
import type { Wanted, WantedVersions } from "./wantedVersions.ts";

/** Dependencies of CacheRoom. */
interface CacheRoomOptions {
  unpacked: UnpackedVersions;
  downloads: Downloads;
  wants: WantedVersions;
  /** 0 means 80 % of the file system. */
  budgetBytes: number;
  readDiskSpace: () => Promise<DiskSpace>;
  /** Returns the digests that sessions or pods of this node use. */
  inUse: () => ReadonlySet<string>;
  onEvicted: (digest: string) => void;
  logger: Logger;
}

/** Tracks the disk space for unpacked versions, and evicts versions to make room. */
export class CacheRoom {
  readonly #options: CacheRoomOptions;
  #disk: DiskSpace = { totalBytes: 0, freeBytes: 0, freeFiles: 0 };

  constructor(options: CacheRoomOptions) {
    this.#options = options;
  }

  /** Measures the disk. */
  async look(): Promise<void> {
    this.#disk = await this.#options.readDiskSpace();
  }

  /** Bytes that unpacked versions may occupy. */
  get capacityBytes(): number {
    return budgetBytes(this.#options.budgetBytes, this.#disk);
  }

  /** Free bytes within the budget and on the disk. */
  get freeBytes(): number {
    return Math.max(0, Math.min(this.capacityBytes - this.#usedBytes, this.#disk.freeBytes));
  }

  /** Returns the digests that must not be evicted. */
  inUse(): Set<string> {
    return new Set([...this.#options.inUse(), ...this.#options.wants.demanded()]);
  }

  /**
   * Makes room for the given bytes of a version. Returns false and changes nothing if that is impossible.
   * `last` is the last failure, which may have found the disk full despite enough free bytes.
   */
  async make(
    bytes: number,
    wanted: Wanted,
    last?: Pick<Failure, "ranOut" | "tooFewFiles">,
  ): Promise<boolean> {
    // Read before the disk is measured. Downloads continue during the measurement: what they write then is
    // missing on the disk but briefly does not count as free.
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
      // While the previous version was removed, a session may have requested the next one or a policy may
      // have pinned it. So the victims are chosen again.
      if (!this.#mayGo(digest)) return this.make(bytes, wanted);
      // The next attempt sees the space that the disk has freed by then.
      if (!(await this.#evict(digest))) throw new Error("An evicted game is still on the disk.");
    }
    return victims !== undefined;
  }

  /**
   * Evicts versions, the least valuable first, until saves have room. Files that the agent does not manage
   * are not touched. Returns whether it evicted any.
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

  /** Evicts the version. Returns false if not all of its space is free yet. */
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

/** A version on the node, with the inputs to the eviction decision. */
export interface Evictable {
  digest: string;
  /** Lower bound of the disk space that eviction frees. */
  bytes: number;
  /** Bytes that count for the budget. */
  occupiedBytes: number;
  /** Undefined if no policy wants it here. */
  priority: number | undefined;
  isPinned: boolean;
  lastUsedMs: number;
  isInUse: boolean;
}

/** A request for disk space. */
interface RoomRequest {
  bytes: number;
  /**
   * Undefined for a launch, which may evict anything not in use. A fill may only evict versions of lower
   * priority.
   */
  priority: number | undefined;
  /**
   * Whether the file system was full on the last attempt despite enough free bytes. It may lack inodes, so
   * one version is removed if possible.
   */
  ranOut?: boolean | undefined;
  /**
   * Number of free inodes that was too low on the last attempt. A fill that finds no more than this, and may
   * evict nothing, would only take all of them from saves again.
   */
  tooFewFiles?: number | undefined;
}

/** The available disk space. */
interface Room {
  usedBytes: number;
  budgetBytes: number;
  /** Bytes free on the file system. */
  diskFreeBytes: number;
  /** Free inodes. */
  freeFiles: number;
}

/**
 * Above the high watermark, space is freed down to the low watermark, so that not every download has to
 * evict.
 */
const highWatermark = 0.9;
const lowWatermark = 0.8;
/**
 * Bytes that a launch leaves free on the file system for saves and the agent. A fill leaves as much as
 * sessions need for their saves, so that it does not take its node out of service.
 */
export const reserveBytes = 64 * 1024 * 1024;

/** Returns the versions to remove so that the request fits, never one in use. Undefined if it cannot fit. */
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
  // Eviction may free less disk space than counts for the budget.
  let freed = 0;
  let uncounted = 0;
  const fits = (): boolean => freed >= missingBytes && uncounted >= usedAfter - budgetBytes;
  for (const version of byWorth(versions.filter((version) => mayEvict(version, request)))) {
    const isNeeded = !fits() || (request.ranOut === true && victims.length === 0);
    // Once the request fits, only versions that no policy wants are removed.
    if (!isNeeded && (uncounted >= usedAfter - lowWatermark * budgetBytes || version.priority !== undefined))
      break;
    victims.push(version);
    freed += version.bytes;
    uncounted += version.occupiedBytes;
  }
  return fits() && (victims.length > 0 || !lacksFiles(request, room)) ? victims : undefined;
}

/**
 * Returns whether a fill would run out of inodes as before. A launch is tried anyway, because a player waits
 * for it.
 */
function lacksFiles({ priority, tooFewFiles }: RoomRequest, { freeFiles }: Room): boolean {
  return priority !== undefined && tooFewFiles !== undefined && freeFiles <= tooFewFiles;
}

/**
 * Returns the versions to evict to free this many bytes, or all evictable versions if they free less. Returns
 * at least one, because the disk may lack inodes instead.
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
 * Returns the versions in eviction order: not wanted by any policy first, then lower priority, then least
 * recently used.
 */
function byWorth(versions: Evictable[]): Evictable[] {
  const rank = ({ priority }: Evictable): number => priority ?? Number.NEGATIVE_INFINITY;
  return versions.toSorted((left, right) => {
    const [leftRank, rightRank] = [rank(left), rank(right)];
    return leftRank === rightRank ? left.lastUsedMs - right.lastUsedMs : leftRank < rightRank ? -1 : 1;
  });
}
