import type { Clock } from "#runtime/scheduling/clock.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { FoundObjects, Manifest, ObjectFiles } from "./objectFiles.ts";
import { occupiedBytes } from "./space.ts";

/** A version that lies unpacked on this node. */
export interface UnpackedVersion {
  digest: string;
  /** Of its files together. */
  bytes: number;
  /** What it takes on the disk at most. */
  occupiedBytes: number;
  cachedAt: Date;
  lastUsedMs: number;
}

/** A version just used is not evicted for this long: its pod may not be visible yet. */
const graceMs = 60_000;

/** The versions that are complete on the disk, and when each was last used. */
export class UnpackedVersions {
  readonly #files: ObjectFiles;
  readonly #clock: Clock;
  readonly #versions = new Map<string, UnpackedVersion>();
  /**
   * What the disk did not show at the start. It counts as absent, also for the budget, until it is wanted and
   * read then, or fetched once more.
   */
  readonly #unread = new Set<string>();
  /** What versions that are being removed take on the disk. */
  #leavingBytes = 0;

  constructor(files: ObjectFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  /**
   * Cleans up after a former process and learns what is there; returns what the disk did not show or let go.
   */
  async load(): Promise<Omit<FoundObjects, "whole">> {
    const { whole, unread, stuck } = await this.#files.load();
    for (const { manifest, lastUsedAt } of whole) this.#take(manifest, lastUsedAt);
    for (const { digest } of unread) this.#unread.add(digest);
    return { unread, stuck };
  }

  /** Looks again at what the disk did not show at the start; returns whether that is a version now. */
  async recover(digest: string): Promise<boolean> {
    if (!this.#unread.has(digest)) return false;
    // What cannot be read now either is fetched once more.
    const found = await this.#files.find(digest).catch(() => undefined);
    if (found !== undefined) this.#take(found.manifest, found.lastUsedAt);
    return found !== undefined;
  }

  has(digest: string): boolean {
    return this.#versions.has(digest);
  }

  list(): UnpackedVersion[] {
    this.#forgetTimesToCome();
    return [...this.#versions.values()];
  }

  /** What all of them take on the disk at most, with those that are being removed. */
  get occupiedBytes(): number {
    return [...this.#versions.values()].reduce(
      (sum, version) => sum + version.occupiedBytes,
      this.#leavingBytes,
    );
  }

  /** Returns the digests that were used a moment ago. */
  recentlyUsed(): string[] {
    const now = this.#clock.now().getTime();
    return [...this.#versions.values()]
      .filter(({ lastUsedMs }) => Math.abs(now - lastUsedMs) < graceMs)
      .map(({ digest }) => digest);
  }

  /** Takes in what was just unpacked. */
  add(manifest: Manifest): void {
    this.#take(manifest, this.#clock.now());
  }

  /**
   * Notes that a session uses the version now; returns false when it is not on the disk any more, and forgets
   * it with what is left of it.
   */
  async markUsed(digest: string): Promise<boolean> {
    const version = this.#versions.get(digest);
    if (version === undefined) return false;
    const now = this.#clock.now();
    version.lastUsedMs = now.getTime();
    try {
      await this.#files.markUsed(digest, now);
      return true;
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      await this.remove(digest);
      return false;
    }
  }

  /**
   * Removes the version, from the table first: a session that asks from now on gets a fresh copy. Returns
   * false where not all of it is gone from the disk yet: how much that is, only the disk knows.
   */
  async remove(digest: string): Promise<boolean> {
    const leavingBytes = this.#versions.get(digest)?.occupiedBytes ?? 0;
    this.#versions.delete(digest);
    this.#leavingBytes += leavingBytes;
    try {
      return await this.#files.remove(digest);
    } finally {
      this.#leavingBytes -= leavingBytes;
    }
  }

  #take(manifest: Manifest, lastUsedAt: Date): void {
    const { digest, unpackedBytes, cachedAt } = manifest;
    this.#unread.delete(digest);
    this.#versions.set(digest, {
      digest,
      bytes: unpackedBytes,
      occupiedBytes: occupiedBytes(manifest),
      cachedAt: new Date(cachedAt),
      lastUsedMs: lastUsedAt.getTime(),
    });
  }

  /**
   * A time well ahead is that of a clock which was put back since, perhaps by years: such a version would be
   * worth more than all that is played since. It changes once and not with each look, as each change of it is
   * reported.
   */
  #forgetTimesToCome(): void {
    const now = this.#clock.now().getTime();
    for (const version of this.#versions.values()) {
      if (version.lastUsedMs >= now + graceMs) version.lastUsedMs = now - graceMs;
    }
  }
}
