import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { contentReasons } from "#contracts/crd/reasons.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../objectStore/objectStore.ts";
import { createThrottle } from "./throttle.ts";
import type { Failure } from "./attempts.ts";
import { entriesToReport, unpackedEntry, wantedEntry, type ContentState } from "./contentState.ts";
import { Downloads, type Download } from "./downloads.ts";
import { CacheRoom } from "./cacheRoom.ts";
import { FailedVersions } from "./failedVersions.ts";
import { FetchFailed, fetchContent } from "./fetchContent.ts";
import type { ObjectFiles } from "./objectFiles.ts";
import { chooseDownloads, type Wanted } from "./schedule.ts";
import { neededBytes, type DiskSpace } from "./space.ts";
import { UnpackedVersions } from "./unpackedVersions.ts";
import { WantedVersions, type WantedOrHeld } from "./wantedVersions.ts";
import { messageOf } from "#runtime/errors.ts";

/** Counts what the cache does. */
export interface CacheMetrics {
  downloaded(
    outcome: "ready" | "failed" | "abandoned",
    reason: string,
    seconds: number,
    packedBytes: number,
  ): void;
  resumed(): void;
  evicted(): void;
  /** What the cache was found to hold. */
  reported(found: {
    capacityBytes: number;
    freeBytes: number;
    usedBytes: number;
    entries: readonly CacheEntry[];
  }): void;
}

/** What the cache works with. */
export interface ContentCacheOptions {
  files: ObjectFiles;
  objectStore: ObjectStore;
  /** 0 for 80 % of the file system. */
  budgetBytes: number;
  readDiskSpace: () => Promise<DiskSpace>;
  /** Digests that sessions or pods of this node use. */
  inUse: () => ReadonlySet<string>;
  /** Whether a session is on the node. */
  isPlayed: () => boolean;
  /**
   * The limit of a fill while a session is on the node, in bytes per second; 0 for no limit but the policy's.
   */
  fillBytesPerSecond: number;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: CacheMetrics;
}

/** The games unpacked on this node: fetches what is wanted, evicts what is not, never what is in use. */
export class ContentCache {
  readonly #options: ContentCacheOptions;
  readonly #unpacked: UnpackedVersions;
  readonly #downloads = new Downloads();
  readonly #failed: FailedVersions;
  readonly #wants = new WantedVersions();
  readonly #listeners = new Set<(digest: string, isProgress: boolean) => void>();
  readonly #stopping = new AbortController();
  #attemptCount = 0;
  readonly #room: CacheRoom;
  /** Whether it is known what is in use and what is pinned. */
  #hasDesired = false;
  #retryTimer: Timer | undefined;
  /** Downloads begin one after the other, so that two do not count on the same free space. */
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
  }

  /** Cleans up after a former process and learns what is there. */
  async load(): Promise<void> {
    const { unread, stuck } = await this.#unpacked.load();
    for (const { digest, error } of unread) {
      this.#options.logger.warn(
        { digest, err: error },
        "A game's folder could not be read. It stays, and is looked at again when the game is wanted.",
      );
    }
    for (const { path, error } of stuck) {
      this.#options.logger.warn(
        { path, err: error },
        "What a former process left could not be moved away. It stays until the next start.",
      );
    }
    await this.#room.look();
  }

  /**
   * Sets what the policies want here, in place of what they wanted before; downloads that nobody wants any
   * more end.
   */
  setDesired(desired: readonly DesiredContent[]): void {
    this.#wants.setDesired(desired);
    this.#hasDesired = true;
    this.#reviewDownloads();
    this.#pump();
  }

  /** Fetches the version first, as a session waits for it. Repeating it is harmless. */
  demand(gameSession: string, source: ArchiveSource): void {
    const isNew = this.#wants.demand(gameSession, source);
    const running = this.#downloads.get(source.sha256);
    if (running !== undefined) running.isForLaunch = true;
    if (!isNew) return;
    this.#failed.retryNow(source.sha256);
    this.#pump();
  }

  /** Ends what the session asked for, and also its download unless a policy or another session wants it. */
  release(gameSession: string): void {
    this.#wants.release(gameSession);
    if (this.#reviewDownloads()) this.#pump();
  }

  /** Returns where a version stands; undefined when nobody wants it. */
  stateOf(digest: string): ContentState | undefined {
    if (this.#unpacked.has(digest)) return { state: "Ready" };
    const download = this.#downloads.get(digest);
    if (download !== undefined) return { state: "Downloading", progressPercent: download.progressPercent };
    const failure = this.#failed.failureToTell(digest);
    if (failure !== undefined) return { state: "Failed", failure };
    return this.#wanted().some((wanted) => wanted.digest === digest)
      ? { state: "Queued", progressPercent: 0 }
      : undefined;
  }

  /**
   * Notes that a session uses the version now; returns false when somebody has removed it from the disk, from
   * which on it is fetched again where it is wanted.
   */
  async markUsed(digest: string): Promise<boolean> {
    if (await this.#unpacked.markUsed(digest)) return true;
    this.#options.logger.warn(
      { digest },
      "A game's folder is gone from the disk, and was not removed by this agent.",
    );
    this.#tell(digest);
    this.#pump();
    return false;
  }

  /**
   * Calls `listener` at each change of a version, with `isProgress` when it is only a further percent;
   * returns how to end that.
   */
  subscribe(listener: (digest: string, isProgress: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether a version could not be fetched for want of space. */
  get isShortOfSpace(): boolean {
    return this.#toReport().some(
      ({ digest }) => this.#failed.failureToTell(digest)?.reason === contentReasons.insufficientSpace,
    );
  }

  /** Returns the cache as a GameNode's status shows it. */
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
   * Evicts games that nobody plays, the least worth first, until saves have room on the disk; returns whether
   * it evicted any. It evicts none before the policies' wishes are known.
   */
  async relieve(): Promise<boolean> {
    if (!this.#hasDesired) return false;
    const relieving = this.#pumping.then(() => this.#room.relieve());
    // Downloads that begin meanwhile wait for it, whatever becomes of it.
    this.#pumping = relieving.then(
      () => undefined,
      () => undefined,
    );
    return relieving;
  }

  /** Ends the downloads; what they wrote is removed at the next start if not now. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retryTimer?.cancel();
    await this.#pumping;
    await this.#downloads.settled();
  }

  /**
   * Gives up the downloads that nobody wants any more, and lets those that only a policy wants go on as
   * fills; returns whether that frees places.
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
          this.#options.logger.error({ err: error }, "Starting downloads failed; it is tried again.");
        this.#retryAfter(5_000);
      });
  }

  async #startDownloads(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const startedMs = this.#options.clock.monotonicMs();
    await this.#liftQuarantines();
    const due = this.#wanted().filter(({ digest }) => !this.#failed.isWaiting(digest));
    for (const wanted of chooseDownloads(due, this.#downloads.list())) {
      // The place of one that does not begin is another version's, which no download's end would start.
      if (!(await this.#begin(wanted))) this.#pump();
    }
    this.#planRetry(startedMs);
  }

  /**
   * Returns whether a download has begun: not where the version is on the disk after all, nobody wants it any
   * more, or there is no room.
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
    // It may have been cancelled while room was made, or a launch have asked for what began as a fill, and
    // may push out more.
    const now = this.#wanted().find((other) => other.digest === digest);
    if (!hasRoom && now?.isForLaunch === wanted.isForLaunch) {
      const message = `The node has no room for ${reservedBytes} bytes: what is there is in use, pinned or matters more.`;
      const failure = { reason: contentReasons.insufficientSpace, message, etag: undefined, isFinal: false };
      // How many inodes are too few stays known, until a fill finds more.
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
      // It was abandoned when it was all but done, and wanted again.
      const successor = this.#downloads.get(digest);
      if (successor !== undefined && successor !== download) this.#abandon(successor);
      metrics.downloaded("ready", "", seconds(), source.sizeBytes);
      logger.info(
        { digest, seconds: seconds(), isForLaunch: download.isForLaunch },
        "A game is unpacked and ready.",
      );
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (download.abandoning.signal.aborted) {
        metrics.downloaded("abandoned", "", seconds(), 0);
        logger.info({ digest, seconds: seconds() }, "A download that nobody wants any more has ended.");
        return;
      }
      const failure = error instanceof FetchFailed ? error.failure : unexpectedFailure(error);
      metrics.downloaded("failed", failure.reason, seconds(), 0);
      logger.warn(
        { digest, reason: failure.reason, err: error },
        "A game could not be fetched; it is tried again later.",
      );
      this.#fail(digest, failure);
    } finally {
      this.#downloads.remove(download);
      this.#tell(digest);
      this.#pump();
    }
  }

  async #fetch(download: Download, source: ArchiveSource): ReturnType<typeof fetchContent> {
    const { files, objectStore, readDiskSpace, clock, random, metrics, logger } = this.#options;
    this.#attemptCount += 1;
    return fetchContent({
      files,
      objectStore,
      readDiskSpace,
      source,
      clock,
      random,
      attempt: this.#attemptCount,
      throttle: createThrottle(clock, () => this.#rateOf(download)),
      signal: AbortSignal.any([this.#stopping.signal, download.abandoning.signal]),
      onProgress: (percent) => {
        if (percent <= download.progressPercent) return;
        download.progressPercent = Math.min(percent, 100);
        this.#tell(download.digest, true);
      },
      onWritten: (bytes) => void (download.writtenBytes += bytes),
      onResume: (offset) => {
        metrics.resumed();
        logger.info({ digest: download.digest, offset }, "A download was cut and goes on where it was.");
      },
    });
  }

  /**
   * Returns bytes per second. A launch is not limited. A fill pauses while a launch needs the line, and keeps
   * to a rate while a game is played. What is fetched is unpacked and written at once, so the rate bounds
   * processor and disk as well.
   */
  #rateOf({ digest, isForLaunch }: Download): number | undefined {
    if (isForLaunch) return undefined;
    if (this.#downloads.list().some((other) => other.isForLaunch)) return 0;
    const { fillBytesPerSecond, isPlayed } = this.#options;
    const rates = [
      this.#wants.desired(digest)?.bytesPerSecond ?? 0,
      isPlayed() ? fillBytesPerSecond : 0,
    ].filter((rate) => rate > 0);
    return rates.length === 0 ? undefined : Math.min(...rates);
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
   * Sets the timer for what becomes due after the pass began. What was due by then has begun, or waits for
   * the pump that each download's end causes.
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

  /** Returns what may be fetched now and is not there yet. */
  #wanted(): Wanted[] {
    return this.#wants.list().filter(({ digest }) => !this.#unpacked.has(digest));
  }

  /** Returns what is wanted and not there yet, whosever turn it is. */
  #wantedOrHeld(): WantedOrHeld[] {
    return this.#wants.listWithHeld().filter(({ digest }) => !this.#unpacked.has(digest));
  }

  /**
   * Returns what is reported as wanted. What failed may be on hold, mostly for other nodes' turns: it must
   * not look untried meanwhile, or it would have the next turn. When its wait is over it stands in line
   * again. What is on hold may also be under way, as a launch has begun it: it goes on while the operator
   * sees that.
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

function unexpectedFailure(error: unknown): Failure {
  return {
    reason: contentReasons.downloadFailed,
    message: messageOf(error),
    etag: undefined,
    isFinal: false,
  };
}
