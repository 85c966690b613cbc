import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Failure } from "./attempts.ts";
import type { Downloads } from "./downloads.ts";
import { chooseRelief, chooseVictims, type Evictable } from "./eviction.ts";
import type { Wanted } from "./schedule.ts";
import { budgetBytes, shortageOf, type DiskSpace } from "./space.ts";
import type { UnpackedVersions } from "./unpackedVersions.ts";
import type { WantedVersions } from "./wantedVersions.ts";

/** What the room is measured and made with. */
export interface CacheRoomOptions {
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
   * Makes room for so many bytes of a version; returns false, and changes nothing, where there is none.
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
      if (!(await this.#evict(digest))) throw new Error("An evicted game is not gone from the disk yet.");
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
