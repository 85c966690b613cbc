import type { Clock } from "#runtime/scheduling/clock.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { FoundObjects, Manifest, ObjectFiles } from "./objectFiles.ts";
import { occupiedBytes } from "./space.ts";

/** A version that is unpacked on this node. */
export interface UnpackedVersion {
  digest: string;
  /** Total size of its files. */
  bytes: number;
  /** Maximum disk usage. */
  occupiedBytes: number;
  cachedAt: Date;
  lastUsedMs: number;
}

/** A version is not evicted for this long after its last use, because its pod may not be visible yet. */
const graceMs = 60_000;

/** The complete versions on the disk, and when each was last used. */
export class UnpackedVersions {
  readonly #files: ObjectFiles;
  readonly #clock: Clock;
  readonly #versions = new Map<string, UnpackedVersion>();
  /**
   * Versions that the disk failed to read at startup. They count as absent, also for the budget, until they
   * are wanted and then read or fetched again.
   */
  readonly #unread = new Set<string>();
  /** Disk usage of versions that are being removed. */
  #leavingBytes = 0;

  constructor(files: ObjectFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  /**
   * Cleans up after a previous process and finds the existing versions. Returns what the disk failed to read
   * or remove.
   */
  async load(): Promise<Omit<FoundObjects, "whole">> {
    const { whole, unread, stuck } = await this.#files.load();
    for (const { manifest, lastUsedAt } of whole) this.#take(manifest, lastUsedAt);
    for (const { digest } of unread) this.#unread.add(digest);
    return { unread, stuck };
  }

  /** Retries reading a version that the disk failed to read at startup. Returns whether it is complete. */
  async recover(digest: string): Promise<boolean> {
    if (!this.#unread.has(digest)) return false;
    // A version that still cannot be read is fetched again.
    const found = await this.#files.find(digest).catch(() => undefined);
    if (found !== undefined) this.#take(found.manifest, found.lastUsedAt);
    return found !== undefined;
  }

  has(digest: string): boolean {
    return this.#versions.has(digest);
  }

  list(): UnpackedVersion[] {
    this.#correctFutureTimes();
    return [...this.#versions.values()];
  }

  /** Maximum disk usage of all versions, including those being removed. */
  get occupiedBytes(): number {
    return [...this.#versions.values()].reduce(
      (sum, version) => sum + version.occupiedBytes,
      this.#leavingBytes,
    );
  }

  /** Returns the digests that were used within the grace period. */
  recentlyUsed(): string[] {
    const now = this.#clock.now().getTime();
    return [...this.#versions.values()]
      .filter(({ lastUsedMs }) => Math.abs(now - lastUsedMs) < graceMs)
      .map(({ digest }) => digest);
  }

  /** Adds a version that was just unpacked. */
  add(manifest: Manifest): void {
    this.#take(manifest, this.#clock.now());
  }

  /**
   * Records that a session uses the version now. Returns false if it is no longer on the disk, and then
   * forgets it and removes its remains.
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
   * Removes the version, from the table first, so that a session that requests it from now on gets a fresh
   * copy. Returns false if it is not yet fully removed: only the disk knows how much is left.
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
   * Corrects times well in the future, which come from a clock that was set back since, perhaps by years.
   * Such a version would outrank everything played since. Each time is corrected only once, because each
   * change is reported.
   */
  #correctFutureTimes(): void {
    const now = this.#clock.now().getTime();
    for (const version of this.#versions.values()) {
      if (version.lastUsedMs >= now + graceMs) version.lastUsedMs = now - graceMs;
    }
  }
}
