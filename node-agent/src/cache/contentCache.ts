import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { limits } from "#contracts/limits.ts";
import { toApiTime, type Clock, type Timer } from "#kube/clock.ts";
import type { Logger } from "#kube/logger.ts";
import type { ObjectStore } from "../store/objectStore.ts";
import { createThrottle } from "../store/throttle.ts";
import { afterFailure, type Attempts, type Failure } from "./attempts.ts";
import { chooseVictims, type Evictable } from "./eviction.ts";
import { FetchFailed, fetchContent } from "./fetchContent.ts";
import type { ObjectFiles } from "./objectFiles.ts";
import { chooseDownloads, type Wanted } from "./schedule.ts";
import { budgetBytes, neededBytes, type DiskSpace } from "./space.ts";

/** Told of what the cache does. */
export interface CacheMetrics {
  downloaded(outcome: "ready" | "failed", reason: string, seconds: number, packedBytes: number): void;
  resumed(): void;
  evicted(): void;
}

export interface ContentCacheOptions {
  files: ObjectFiles;
  store: ObjectStore;
  /** 0 for 80 % of the file system. */
  budgetBytes: number;
  readDiskSpace: () => Promise<DiskSpace>;
  /** Digests that sessions or pods of this node use. */
  inUse: () => ReadonlySet<string>;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: CacheMetrics;
}

/** Where a version stands, for a session that waits for it. */
export type ContentState =
  | { state: "Ready" }
  | { state: "Queued" | "Downloading"; progressPercent: number }
  | { state: "Failed"; failure: Failure };

interface Download {
  digest: string;
  isForLaunch: boolean;
  progressPercent: number;
  /** Bytes set aside on the disk. */
  reservedBytes: number;
  ended: Promise<void>;
}

interface Ready {
  bytes: number;
  cachedAt: Date;
  lastUsedMs: number;
}

/** A version just used is not evicted for this long: its pod may not be visible yet. */
const graceMs = 60_000;

/** The games unpacked on this node: fetches what is wanted, evicts what is not, never what is in use. */
export class ContentCache {
  readonly #options: ContentCacheOptions;
  readonly #ready = new Map<string, Ready>();
  readonly #downloads = new Map<string, Download>();
  readonly #attempts = new Map<string, Attempts>();
  /** By session: what it waits for. */
  readonly #demands = new Map<string, ArchiveSource>();
  #desired: readonly DesiredContent[] = [];
  readonly #listeners = new Set<(digest: string, isProgress: boolean) => void>();
  readonly #stopping = new AbortController();
  #attemptCount = 0;
  #retryTimer: Timer | undefined;
  #disk: DiskSpace = { totalBytes: 0, freeBytes: 0 };
  /** Downloads begin one after the other, so that two do not count on the same free space. */
  #pumping: Promise<void> = Promise.resolve();

  constructor(options: ContentCacheOptions) {
    this.#options = options;
  }

  /** Cleans up after a former process and learns what is there. */
  async load(): Promise<void> {
    for (const { manifest, lastUsedAt } of await this.#options.files.load()) {
      this.#ready.set(manifest.digest, { bytes: manifest.unpackedBytes, cachedAt: new Date(manifest.cachedAt), lastUsedMs: lastUsedAt.getTime() });
    }
    this.#disk = await this.#options.readDiskSpace();
  }

  /** What the policies want here; replaces what they wanted before. */
  setDesired(desired: readonly DesiredContent[]): void {
    this.#desired = desired;
    this.#pump();
  }

  /** A session needs the version now. Repeating it is harmless. */
  demand(gameSession: string, source: ArchiveSource): void {
    const known = this.#demands.get(gameSession);
    this.#demands.set(gameSession, source);
    const running = this.#downloads.get(source.sha256);
    if (running !== undefined) running.isForLaunch = true;
    if (known?.sha256 === source.sha256) return;
    // A player does not sit out the back-off of a background fill.
    const attempts = this.#attempts.get(source.sha256);
    if (attempts !== undefined && !attempts.isQuarantined) attempts.retryAtMs = this.#options.clock.monotonicMs();
    this.#pump();
  }

  /** The session no longer waits. */
  release(gameSession: string): void {
    this.#demands.delete(gameSession);
  }

  /** Where a version stands; undefined when nobody wants it. */
  stateOf(digest: string): ContentState | undefined {
    if (this.#ready.has(digest)) return { state: "Ready" };
    const download = this.#downloads.get(digest);
    if (download !== undefined) return { state: "Downloading", progressPercent: download.progressPercent };
    const attempts = this.#attempts.get(digest);
    if (attempts !== undefined) return { state: "Failed", failure: attempts.last };
    return this.#wanted().some((wanted) => wanted.digest === digest) ? { state: "Queued", progressPercent: 0 } : undefined;
  }

  /** Notes that a session uses the version now. */
  async markUsed(digest: string): Promise<void> {
    const ready = this.#ready.get(digest);
    if (ready === undefined) return;
    const now = this.#options.clock.now();
    ready.lastUsedMs = now.getTime();
    await this.#options.files.markUsed(digest, now);
  }

  /** Calls `listener` at each change of a version; `isProgress` when it is only a further percent. */
  subscribe(listener: (digest: string, isProgress: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether a version could not be fetched for want of space. */
  get isShortOfSpace(): boolean {
    return [...this.#attempts.values()].some(({ last }) => last.reason === "InsufficientSpace");
  }

  /** The cache as a GameNode's status shows it. */
  async report(): Promise<NonNullable<GameNodeStatus["cache"]>> {
    this.#disk = await this.#options.readDiskSpace();
    const capacityBytes = this.#budget();
    const freeBytes = Math.max(0, Math.min(capacityBytes - this.#usedBytes(), this.#disk.freeBytes));
    return { capacityBytes, freeBytes, entries: this.#entries().slice(0, limits.node.cacheEntriesReported) };
  }

  /** Ends the downloads; what they wrote is removed at the next start if not now. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retryTimer?.cancel();
    await this.#pumping;
    await Promise.all([...this.#downloads.values()].map(({ ended }) => ended));
  }

  #pump(): void {
    this.#pumping = this.#pumping.then(() => this.#startDownloads()).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#options.logger.error({ err: error }, "Starting downloads failed; it is tried again.");
      this.#retryAfter(5_000);
    });
  }

  async #startDownloads(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await this.#liftQuarantines();
    const due = this.#wanted().filter(({ digest }) => !this.#isWaiting(digest));
    for (const wanted of chooseDownloads(due, [...this.#downloads.values()])) await this.#begin(wanted);
    this.#planRetry();
  }

  async #begin(wanted: Wanted): Promise<void> {
    const { digest, source, isForLaunch } = wanted;
    const reservedBytes = neededBytes(source.unpackedSizeBytes);
    if (!await this.#makeRoom(reservedBytes, wanted)) {
      const message = `The node has no room for ${reservedBytes} bytes: what is there is in use, pinned or matters more.`;
      this.#fail(digest, { reason: "InsufficientSpace", message, etag: undefined, isFinal: false });
      return;
    }
    const download: Download = { digest, isForLaunch, progressPercent: 0, reservedBytes, ended: Promise.resolve() };
    this.#downloads.set(digest, download);
    download.ended = this.#run(download, source);
    this.#tell(digest);
  }

  async #run(download: Download, source: ArchiveSource): Promise<void> {
    const { clock, metrics, logger } = this.#options;
    const { digest } = download;
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    try {
      const { unpackedBytes, cachedAt } = await this.#fetch(download, source);
      this.#attempts.delete(digest);
      this.#ready.set(digest, { bytes: unpackedBytes, cachedAt: new Date(cachedAt), lastUsedMs: clock.now().getTime() });
      metrics.downloaded("ready", "", seconds(), source.sizeBytes);
      logger.info({ digest, seconds: seconds(), isForLaunch: download.isForLaunch }, "A game is unpacked and ready.");
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const failure = error instanceof FetchFailed ? error.failure : unexpectedFailure(error);
      metrics.downloaded("failed", failure.reason, seconds(), 0);
      logger.warn({ digest, reason: failure.reason, err: error }, "A game could not be fetched; it is tried again later.");
      this.#fail(digest, failure);
    } finally {
      this.#downloads.delete(digest);
      this.#tell(digest);
      this.#pump();
    }
  }

  async #fetch(download: Download, source: ArchiveSource): ReturnType<typeof fetchContent> {
    const { files, store, clock, random, metrics, logger } = this.#options;
    this.#attemptCount += 1;
    return fetchContent({
      files, store, source, clock, random,
      attempt: this.#attemptCount,
      throttle: createThrottle(clock, () => this.#rateOf(download)),
      signal: this.#stopping.signal,
      onProgress: (percent) => {
        if (percent <= download.progressPercent) return;
        download.progressPercent = Math.min(percent, 100);
        this.#tell(download.digest, true);
      },
      onResume: (offset) => {
        metrics.resumed();
        logger.info({ digest: download.digest, offset }, "A download was cut and goes on where it was.");
      },
    });
  }

  /** A launch runs free; a fill keeps to its rate and pauses while a launch needs the line. */
  #rateOf({ digest, isForLaunch }: Download): number | undefined {
    if (isForLaunch) return undefined;
    if ([...this.#downloads.values()].some((other) => other.isForLaunch)) return 0;
    return this.#desired.find((content) => content.digest === digest)?.bytesPerSecond;
  }

  #fail(digest: string, failure: Failure): void {
    const { clock, random } = this.#options;
    this.#attempts.set(digest, afterFailure(this.#attempts.get(digest), failure, clock.monotonicMs(), random));
    this.#tell(digest);
  }

  /** An object that was replaced since it was given up gets a new chance. */
  async #liftQuarantines(): Promise<void> {
    const { clock, store, random } = this.#options;
    for (const { digest, source } of this.#wanted()) {
      const attempts = this.#attempts.get(digest);
      if (attempts?.isQuarantined !== true || attempts.retryAtMs > clock.monotonicMs()) continue;
      const found = await store.stat(source, this.#stopping.signal).catch(() => undefined);
      if (found !== undefined && found.etag !== attempts.last.etag) this.#attempts.delete(digest);
      else this.#attempts.set(digest, afterFailure(attempts, attempts.last, clock.monotonicMs(), random));
    }
  }

  #isWaiting(digest: string): boolean {
    const attempts = this.#attempts.get(digest);
    return attempts !== undefined && (attempts.isQuarantined || attempts.retryAtMs > this.#options.clock.monotonicMs());
  }

  #planRetry(): void {
    const wanted = new Set(this.#wanted().map(({ digest }) => digest));
    for (const digest of this.#attempts.keys()) if (!wanted.has(digest)) this.#attempts.delete(digest);
    const next = Math.min(...[...this.#attempts.values()].map(({ retryAtMs }) => retryAtMs));
    if (Number.isFinite(next)) this.#retryAfter(Math.max(10, next - this.#options.clock.monotonicMs()));
  }

  #retryAfter(ms: number): void {
    this.#retryTimer?.cancel();
    if (!this.#stopping.signal.aborted) this.#retryTimer = this.#options.clock.setTimer(ms, () => this.#pump());
  }

  async #makeRoom(bytes: number, { isForLaunch, priority }: Wanted): Promise<boolean> {
    this.#disk = await this.#options.readDiskSpace();
    const request = { bytes, priority: isForLaunch ? undefined : priority };
    const reserved = this.#reservedBytes();
    const room = { usedBytes: this.#usedBytes(), budgetBytes: this.#budget(), diskFreeBytes: this.#disk.freeBytes - reserved };
    const victims = chooseVictims(this.#evictables(), request, room);
    for (const { digest } of victims ?? []) {
      // Out of the table first: a session that asks from now on gets a fresh copy.
      this.#ready.delete(digest);
      await this.#options.files.remove(digest);
      this.#options.metrics.evicted();
      this.#options.logger.info({ digest }, "A game was evicted to make room.");
      this.#tell(digest);
    }
    return victims !== undefined;
  }

  #evictables(): Evictable[] {
    const inUse = this.#keptDigests();
    return [...this.#ready].map(([digest, { bytes, lastUsedMs }]) => {
      const desired = this.#desired.find((content) => content.digest === digest);
      return { digest, bytes, lastUsedMs, priority: desired?.priority, isPinned: desired?.pinned ?? false, isInUse: inUse.has(digest) };
    });
  }

  #usedDigests(): Set<string> {
    const used = new Set(this.#options.inUse());
    for (const { sha256 } of this.#demands.values()) used.add(sha256);
    return used;
  }

  /** In use, or used a moment ago. */
  #keptDigests(): Set<string> {
    const used = this.#usedDigests();
    const now = this.#options.clock.now().getTime();
    for (const [digest, { lastUsedMs }] of this.#ready) if (now - lastUsedMs < graceMs) used.add(digest);
    return used;
  }

  #wanted(): Wanted[] {
    const wanted = new Map<string, Wanted>();
    for (const { digest, source, priority, hold } of this.#desired) {
      if (!hold) wanted.set(digest, { digest, source, isForLaunch: false, priority });
    }
    for (const source of this.#demands.values()) {
      wanted.set(source.sha256, { digest: source.sha256, source, isForLaunch: true, priority: wanted.get(source.sha256)?.priority ?? 0 });
    }
    return [...wanted.values()].filter(({ digest }) => !this.#ready.has(digest));
  }

  #budget(): number {
    return budgetBytes(this.#options.budgetBytes, this.#disk);
  }

  #usedBytes(): number {
    return [...this.#ready.values()].reduce((sum, { bytes }) => sum + bytes, this.#reservedBytes());
  }

  #reservedBytes(): number {
    return [...this.#downloads.values()].reduce((sum, { reservedBytes }) => sum + reservedBytes, 0);
  }

  #entries(): CacheEntry[] {
    const inUse = this.#usedDigests();
    const ready = [...this.#ready].map(([digest, { bytes, cachedAt, lastUsedMs }]): CacheEntry => ({
      digest, state: "Ready", bytes, inUse: inUse.has(digest), cachedAt: toApiTime(cachedAt), lastUsedAt: toApiTime(new Date(lastUsedMs)),
    }));
    const others = this.#wanted().map(({ digest }): CacheEntry => {
      const base = { digest, bytes: 0, inUse: inUse.has(digest) };
      const state = this.stateOf(digest);
      if (state?.state === "Failed") return { ...base, state: "Failed", reason: `${state.failure.reason}: ${state.failure.message}`.slice(0, 1024) };
      if (state?.state === "Downloading") return { ...base, state: "Downloading", progressPercent: state.progressPercent };
      return { ...base, state: "Queued" };
    });
    return [...ready, ...others];
  }

  #tell(digest: string, isProgress = false): void {
    for (const listener of this.#listeners) listener(digest, isProgress);
  }
}

function unexpectedFailure(error: unknown): Failure {
  return { reason: "DownloadFailed", message: error instanceof Error ? error.message : String(error), etag: undefined, isFinal: false };
}
