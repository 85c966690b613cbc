import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../objectStore/objectStore.ts";
import { createFetcher, failureOf } from "./fetchContent.ts";
import { FailedVersions, type Failure } from "./failedVersions.ts";
import { entriesToReport, unpackedEntry, wantedEntry, type ContentState } from "./contentState.ts";
import { Downloads, type Download } from "./downloads.ts";
import { CacheRoom } from "./cacheRoom.ts";
import type { Manifest, ObjectFiles } from "./objectFiles.ts";
import { chooseDownloads, type Wanted, type WantedOrHeld, WantedVersions } from "./wantedVersions.ts";
import { neededBytes, type DiskSpace } from "./space.ts";
import { UnpackedVersions } from "./unpackedVersions.ts";

/** Metrics of the cache. */
export interface CacheMetrics {
  downloaded(
    outcome: "ready" | "failed" | "abandoned",
    reason: string,
    seconds: number,
    packedBytes: number,
  ): void;
  resumed(): void;
  evicted(): void;
  /** The cache's content in a report. */
  reported(found: {
    capacityBytes: number;
    freeBytes: number;
    usedBytes: number;
    entries: readonly CacheEntry[];
  }): void;
}

/** Dependencies of ContentCache. */
export interface ContentCacheOptions {
  files: ObjectFiles;
  objectStore: ObjectStore;
  /** 0 means 80 % of the file system. */
  budgetBytes: number;
  readDiskSpace: () => Promise<DiskSpace>;
  /** Returns the digests that sessions or pods of this node use. */
  inUse: () => ReadonlySet<string>;
  /** Returns whether a session is on the node. */
  isPlayed: () => boolean;
  /** Limits fills while a session is on the node, in bytes per second. 0: the policy's limit applies. */
  fillBytesPerSecond: number;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: CacheMetrics;
}

/** The games unpacked on this node. Fetches wanted versions and evicts others, but never versions in use. */
export class ContentCache {
  readonly #options: ContentCacheOptions;
  readonly #unpacked: UnpackedVersions;
  readonly #downloads = new Downloads();
  readonly #failed: FailedVersions;
  readonly #wants = new WantedVersions();
  readonly #listeners = new Set<(digest: string, isProgress: boolean) => void>();
  readonly #stopping = new AbortController();
  readonly #room: CacheRoom;
  readonly #fetch: (download: Download, source: ArchiveSource) => Promise<Manifest>;
  /** Set once the versions that are in use and pinned are known. */
  #hasDesired = false;
  #retryTimer: Timer | undefined;
  /** Downloads start one at a time, because two must not count on the same free space. */
  #pumping: Promise<void> = Promise.resolve();

  constructor(options: ContentCacheOptions) {
    this.#options = options;
    this.#unpacked = new UnpackedVersions(options.files, options.clock);
    this.#failed = new FailedVersions(options.clock, options.random);
    this.#room = new CacheRoom({
      ...options,
      unpacked: this.#unpacked,
      downloads: this.#downloads,
      wants: this.#wants,
      onEvicted: (digest) => {
        options.metrics.evicted();
        this.#tell(digest);
      },
    });
    this.#fetch = createFetcher({
      ...options,
      downloads: this.#downloads,
      wants: this.#wants,
      stopping: this.#stopping.signal,
      onProgress: ({ digest }) => this.#tell(digest, true),
    });
  }

  /** Cleans up after an earlier process and reads the unpacked versions from disk. */
  async load(): Promise<void> {
    const { unread, stuck } = await this.#unpacked.load();
    const { logger } = this.#options;
    for (const { digest, error } of unread)
      logger.warn({ digest, err: error }, "A game's folder could not be read. It is retried on next use.");
    for (const { path, error } of stuck)
      logger.warn({ path, err: error }, "Leftover files could not be moved away. They stay until a restart.");
    await this.#room.look();
  }

  /** Replaces what the policies want on this node. Downloads that are no longer wanted are cancelled. */
  setDesired(desired: readonly DesiredContent[]): void {
    this.#wants.setDesired(desired);
    this.#hasDesired = true;
    this.#reviewDownloads();
    this.#pump();
  }

  /** Fetches the version ahead of fills, because a session waits for it. Idempotent. */
  demand(gameSession: string, source: ArchiveSource): void {
    const isNew = this.#wants.demand(gameSession, source);
    const running = this.#downloads.get(source.sha256);
    if (running !== undefined) running.isForLaunch = true;
    if (!isNew) return;
    this.#failed.retryNow(source.sha256);
    this.#pump();
  }

  /** Withdraws a session's demand. Cancels the download unless a policy or another session wants it. */
  release(gameSession: string): void {
    this.#wants.release(gameSession);
    if (this.#reviewDownloads()) this.#pump();
  }

  /** Returns the state of a version; undefined when nothing wants it. */
  stateOf(digest: string): ContentState | undefined {
    if (this.#unpacked.has(digest)) return { state: "Ready" };
    const download = this.#downloads.get(digest);
    if (download !== undefined) return { state: "Downloading", progressPercent: download.progressPercent };
    const failure = this.#failed.reportableFailure(digest);
    if (failure !== undefined) return { state: "Failed", failure };
    return this.#wanted().some((wanted) => wanted.digest === digest)
      ? { state: "Queued", progressPercent: 0 }
      : undefined;
  }

  /**
   * Records that a session uses the version now. Returns false if someone else removed the version from the
   * disk. It is then fetched again if wanted.
   */
  async markUsed(digest: string): Promise<boolean> {
    if (await this.#unpacked.markUsed(digest)) return true;
    this.#options.logger.warn({ digest }, "A game's folder was removed from the disk by someone else.");
    this.#tell(digest);
    this.#pump();
    return false;
  }

  /**
   * Calls `listener` on each change of a version. `isProgress` marks changes of the percentage alone. Returns
   * the function that unsubscribes.
   */
  subscribe(listener: (digest: string, isProgress: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether a wanted version could not be fetched because the disk lacks space. */
  get isShortOfSpace(): boolean {
    return this.#toReport().some(
      ({ digest }) => this.#failed.reportableFailure(digest)?.reason === contentReasons.insufficientSpace,
    );
  }

  /** Returns the cache for a GameNode's status. */
  async report(): Promise<NonNullable<GameNodeStatus["cache"]>> {
    await this.#room.look();
    const { capacityBytes, freeBytes } = this.#room;
    const entries = this.#entries();
    this.#options.metrics.reported({
      capacityBytes,
      freeBytes,
      usedBytes: this.#unpacked.occupiedBytes,
      entries,
    });
    return {
      capacityBytes,
      freeBytes,
      entries: entriesToReport(entries, (digest) => this.#wants.desired(digest) !== undefined),
    };
  }

  /**
   * Evicts unused games, least valuable first, until saves have room on the disk. Returns whether it evicted
   * any. Evicts nothing before the policies are known.
   */
  async relieve(): Promise<boolean> {
    if (!this.#hasDesired) return false;
    const relieving = this.#pumping.then(() => this.#room.relieve());
    // Later downloads wait for it, even if it fails.
    this.#pumping = relieving.then(
      () => undefined,
      () => undefined,
    );
    return relieving;
  }

  /** Cancels the downloads. Leftover files are removed at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retryTimer?.cancel();
    await this.#pumping;
    await this.#downloads.settled();
  }

  /**
   * Cancels downloads that are no longer wanted, and turns those wanted by a policy alone into fills. Returns
   * whether that freed a launch slot.
   */
  #reviewDownloads(): boolean {
    const launches = this.#downloads.list().filter(({ isForLaunch }) => isForLaunch).length;
    const demanded = new Set(this.#wants.demanded());
    for (const download of this.#downloads.list()) {
      download.isForLaunch = demanded.has(download.digest);
      if (!download.isForLaunch && this.#wants.desired(download.digest) === undefined)
        this.#abandon(download);
    }
    return this.#downloads.list().filter(({ isForLaunch }) => isForLaunch).length < launches;
  }

  #abandon(download: Download): void {
    this.#downloads.abandon(download);
    this.#tell(download.digest);
  }

  #pump(): void {
    this.#pumping = this.#pumping
      .then(() => this.#startDownloads())
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted)
          this.#options.logger.error({ err: error }, "Starting downloads failed. It is retried.");
        this.#retryAfter(5_000);
      });
  }

  async #startDownloads(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const startedMs = this.#options.clock.monotonicMs();
    await this.#liftQuarantines();
    const due = this.#wanted().filter(({ digest }) => !this.#failed.isWaiting(digest));
    for (const wanted of chooseDownloads(due, this.#downloads.list())) {
      // A download that does not start leaves its slot free, and no other download's end would start the next
      // one.
      if (!(await this.#begin(wanted))) this.#pump();
    }
    this.#planRetry(startedMs);
  }

  /**
   * Returns whether a download has begun. It does not begin if the version is already on disk, is no longer
   * wanted, or has no room.
   */
  async #begin(wanted: Wanted): Promise<boolean> {
    const { digest, source } = wanted;
    if (await this.#unpacked.recover(digest)) {
      this.#tell(digest);
      return false;
    }
    const reservedBytes = neededBytes(source.unpackedSizeBytes);
    const last = this.#failed.lastFailure(digest);
    const hasRoom = await this.#room.make(reservedBytes, wanted, last);
    // By now it may have been cancelled, or requested by a launch, which may evict more.
    const now = this.#wanted().find((other) => other.digest === digest);
    if (!hasRoom && now?.isForLaunch === wanted.isForLaunch) {
      const message = `The node has no room for ${reservedBytes} bytes: cached games are in use, pinned or of higher priority.`;
      const failure = { reason: contentReasons.insufficientSpace, message, etag: undefined, isFinal: false };
      // A fill keeps the known number of missing inodes until it finds more free ones.
      this.#fail(digest, wanted.isForLaunch || last?.tooFewFiles === undefined ? failure : last);
    }
    if (!hasRoom || now === undefined) return false;
    const download: Download = {
      digest,
      isForLaunch: now.isForLaunch,
      progressPercent: 0,
      reservedBytes,
      writtenBytes: 0,
      abandoning: new AbortController(),
      ended: Promise.resolve(),
    };
    this.#downloads.add(download);
    download.ended = this.#run(download, source);
    this.#tell(digest);
    return true;
  }

  async #run(download: Download, source: ArchiveSource): Promise<void> {
    const { clock, metrics, logger } = this.#options;
    const { digest } = download;
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    try {
      const manifest = await this.#fetch(download, source);
      this.#failed.forget(digest);
      this.#unpacked.add(manifest);
      // It was abandoned when almost done, and then wanted again.
      const successor = this.#downloads.get(digest);
      if (successor !== undefined && successor !== download) this.#abandon(successor);
      metrics.downloaded("ready", "", seconds(), source.sizeBytes);
      const { isForLaunch } = download;
      logger.info({ digest, seconds: seconds(), isForLaunch }, "A game is unpacked and ready.");
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (download.abandoning.signal.aborted) {
        metrics.downloaded("abandoned", "", seconds(), 0);
        logger.info(
          { digest, seconds: seconds() },
          "A download was cancelled because it is no longer wanted.",
        );
        return;
      }
      const failure = failureOf(error);
      metrics.downloaded("failed", failure.reason, seconds(), 0);
      logger.warn(
        { digest, reason: failure.reason, err: error },
        "A game could not be fetched. It is retried.",
      );
      this.#fail(digest, failure);
    } finally {
      this.#downloads.remove(download);
      this.#tell(digest);
      this.#pump();
    }
  }

  #fail(digest: string, failure: Failure): void {
    this.#failed.add(digest, failure);
    this.#tell(digest);
  }

  async #liftQuarantines(): Promise<void> {
    for (const { digest, source } of this.#wantedOrHeld()) {
      if (!this.#failed.isDueForCheck(digest)) continue;
      const found = await this.#options.objectStore
        .stat(source, this.#stopping.signal)
        .catch(() => undefined);
      this.#failed.check(digest, found?.etag);
    }
  }

  /**
   * Sets the timer for retries that become due after the pass began. Earlier ones have started, or wait for a
   * download to end.
   */
  #planRetry(passStartedMs: number): void {
    this.#failed.keepOnly(new Set(this.#wantedOrHeld().map(({ digest }) => digest)));
    const nextMs = this.#failed.msToNextTry(passStartedMs);
    if (nextMs !== undefined) this.#retryAfter(Math.max(10, nextMs));
  }

  #retryAfter(ms: number): void {
    this.#retryTimer?.cancel();
    if (!this.#stopping.signal.aborted)
      this.#retryTimer = this.#options.clock.setTimer(ms, () => this.#pump());
  }

  /** Returns the missing versions that may be fetched now. */
  #wanted(): Wanted[] {
    return this.#wants.list().filter(({ digest }) => !this.#unpacked.has(digest));
  }

  /** Returns the missing versions, including those on hold. */
  #wantedOrHeld(): WantedOrHeld[] {
    return this.#wants.listWithHeld().filter(({ digest }) => !this.#unpacked.has(digest));
  }

  /**
   * Returns the versions to report as wanted. Versions on hold are reported in two cases: while a failed one
   * waits for its retry, because it would get the next turn if it looked untried, and while one is
   * downloading for a launch, because the operator lets the download continue only while it sees it.
   */
  #toReport(): Wanted[] {
    return this.#wantedOrHeld().filter(
      ({ digest, isHeld }) =>
        !isHeld || this.#failed.isWaiting(digest) || this.#downloads.get(digest) !== undefined,
    );
  }

  #entries(): CacheEntry[] {
    const inUse = this.#room.inUse();
    const others = this.#toReport().map(({ digest }) =>
      wantedEntry(digest, this.stateOf(digest), inUse.has(digest)),
    );
    return [
      ...this.#unpacked.list().map((version) => unpackedEntry(version, inUse.has(version.digest))),
      ...others,
    ];
  }

  #tell(digest: string, isProgress = false): void {
    for (const listener of this.#listeners) listener(digest, isProgress);
  }
}
