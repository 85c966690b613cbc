import { type BackOff, backOffMs, jittered } from "#runtime/scheduling/backOff.ts";
import { type Clock, sleepUntilAborted, systemClock } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded, untilAborted, withDeadline } from "#runtime/scheduling/deadline.ts";
import { isMalformedResponse, isGone, isTransient, isVersionTooLarge, KubeError } from "../api/errors.ts";
import { type Logger, silentLogger } from "#runtime/logger.ts";
import { type KubeObject, isOlderVersion } from "../api/object.ts";
import type { Selection } from "../client/request.ts";
import type { ResourceClient } from "../client/resourceClient.ts";
import type { ObjectCache } from "./cache.ts";
import { decodeWatchLine } from "../client/watchEvent.ts";
import { WatchHearing } from "./watchHearing.ts";

/** Receives metrics of a reflector. */
export interface ReflectorMetrics {
  listed(objects: number): void;
  watchEnded(reason: "closed" | "gone" | "failed"): void;
  /** A relist found changes that the watch missed. */
  drifted(objects: number): void;
  /** The type's parse rejected an object, which is left out of the cache. */
  rejected(): void;
}

export interface ReflectorOptions<T extends KubeObject, I extends string> extends Selection {
  client: ResourceClient<T>;
  cache: ObjectCache<T, I>;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  logger?: Logger | undefined;
  metrics?: ReflectorMetrics | undefined;
  /** Interval between full lists. Defaults to 10 min. */
  relistIntervalMs?: number | undefined;
  /**
   * Range in seconds of the random time after which the server is asked to end a watch. Defaults to 15 to 25.
   * A longer watch means a dead connection, which would otherwise go unnoticed for minutes. Before the end,
   * the server sends a bookmark, from which the next watch resumes.
   */
  watchSeconds?: { min: number; max: number } | undefined;
  /**
   * Time without an event or an end after which a watch counts as dead. Longer than the longest watch.
   * Defaults to 28 s.
   */
  idleDeadlineMs?: number | undefined;
  backOff?: BackOff | undefined;
}

/**
 * A watch that ends sooner without an event counts as failed. Otherwise a server that closes watches
 * immediately would receive a flood of requests.
 */
const shortWatchMs = 1000;

/** Keeps a cache in sync with the cluster, and recovers from broken watches. */
export class Reflector<T extends KubeObject, I extends string = never> {
  readonly cache: ObjectCache<T, I>;
  readonly #client: ResourceClient<T>;
  readonly #selection: Selection;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #logger: Logger;
  readonly #metrics: ReflectorMetrics | undefined;
  readonly #relistIntervalMs: number;
  readonly #watchSeconds: { min: number; max: number };
  readonly #idleDeadlineMs: number;
  readonly #backOff: BackOff;
  readonly #hearing: WatchHearing;
  readonly #synced = Promise.withResolvers<undefined>();
  #hasSynced = false;
  #run: { controller: AbortController; ended: Promise<void> } | undefined;
  /** Version at which the next watch starts; undefined before the first list. */
  #version: string | undefined;
  /** Options of the next list; undefined when none is due. */
  #listDue: "first" | "fresh" | "reset" | undefined = "first";
  /** Whether a watch broke since then: the server may have been restored from a backup. */
  #isVersionUnknown = false;
  #nextRelistMs = 0;
  #failures = 0;
  /** Number of consecutive responses saying that the server has not reached the version yet. */
  #tooLarge = 0;

  constructor({
    client,
    cache,
    namespace,
    labelSelector,
    fieldSelector,
    ...options
  }: ReflectorOptions<T, I>) {
    this.#client = client;
    this.cache = cache;
    this.#selection = { namespace, labelSelector, fieldSelector };
    this.#clock = options.clock ?? systemClock;
    this.#hearing = new WatchHearing(this.#clock);
    this.#random = options.random ?? Math.random;
    this.#logger = (options.logger ?? silentLogger).child({ resource: client.type.plural });
    this.#metrics = options.metrics;
    this.#relistIntervalMs = options.relistIntervalMs ?? 600_000;
    this.#watchSeconds = options.watchSeconds ?? { min: 15, max: 25 };
    this.#idleDeadlineMs = options.idleDeadlineMs ?? 28_000;
    this.#backOff = options.backOff ?? { baseMs: 1600, maxMs: 30_000 };
  }

  /** Whether the cache has been filled once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /**
   * Milliseconds since the last response of the API server, for readiness; undefined before the first list.
   */
  get silentForMs(): number | undefined {
    return this.#hearing.silentForMs;
  }

  /**
   * Milliseconds for which the cache may have missed changes: a server that responds may not have sent what a
   * broken watch missed. Undefined before the first list.
   */
  get behindForMs(): number | undefined {
    return this.#hearing.behindForMs;
  }

  /** Resolves once the cache has been filled. Rejects when the signal is aborted first. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await (signal ? untilAborted(this.#synced.promise, signal) : this.#synced.promise);
  }

  /** Starts listing and watching. Starting twice has no effect. */
  start(): void {
    if (this.#run) return;
    const controller = new AbortController();
    this.#run = { controller, ended: this.#keepUp(controller.signal) };
  }

  /**
   * Stops the watch. Once it resolves, no connection is open and the cache has not changed since the call.
   */
  async stop(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    run?.controller.abort();
    await run?.ended;
  }

  /** The signal identifies this run: results that arrive after it was aborted are discarded. */
  async #keepUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failure = await this.#goOn(signal);
      if (failure) await this.#recover(failure.error, signal);
    }
  }

  /** Lists or watches until another step is due. Returns the error, unless it was stopped. */
  async #goOn(signal: AbortSignal): Promise<{ error: unknown } | undefined> {
    try {
      if (this.#listDue !== undefined || this.#version === undefined) await this.#list(signal);
      else if (this.#isVersionUnknown) await this.#assureVersion(signal, this.#version);
      else await this.#watchUntilRelist(signal, this.#version);
      return undefined;
    } catch (error) {
      return signal.aborted ? undefined : { error };
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const due = this.#listDue ?? "first";
    // "0" returns what the server has in memory. A version that was already seen prevents a lagging replica
    // from returning older data.
    const resourceVersion = due === "first" ? (this.#version ?? "0") : undefined;
    const { items, resourceVersion: version } = await this.#client.listAll({
      ...this.#selection,
      resourceVersion,
      signal,
      onRejected: (error) => this.#reject(error),
    });
    if (signal.aborted) return;
    // A consistent list that is older than a version seen before proves that the storage has gone back in
    // time.
    if (due === "reset" || (this.#version !== undefined && isOlderVersion(version, this.#version)))
      this.#startOver(version);
    this.cache.replace(items, version);
    this.#version = version;
    this.#listDue = undefined;
    this.#isVersionUnknown = false;
    this.#tooLarge = 0;
    this.#nextRelistMs = this.#clock.monotonicMs() + jittered(this.#relistIntervalMs, this.#random, 0.1);
    this.#hearing.noteList();
    this.#metrics?.listed(items.length);
    this.#hasSynced = true;
    this.#synced.resolve(undefined);
  }

  /** Discards the content of the cache. */
  #startOver(version: string): void {
    this.#logger.warn(
      { seen: this.#version, listed: version },
      "The cluster's storage has gone back in time. The cache starts over.",
    );
    this.cache.clear();
  }

  /**
   * Throws VersionTooLarge if the server has not reached the version yet: a watch would be silent until then.
   */
  async #assureVersion(signal: AbortSignal, version: string): Promise<void> {
    await this.#client.list({
      ...this.#selection,
      resourceVersion: version,
      resourceVersionMatch: "NotOlderThan",
      limit: 1,
      signal,
      onRejected: () => undefined,
    });
    this.#isVersionUnknown = false;
    this.#tooLarge = 0;
    this.#hearing.noteResponse();
  }

  async #watchUntilRelist(signal: AbortSignal, version: string): Promise<void> {
    const ms = this.#nextRelistMs - this.#clock.monotonicMs();
    if (ms <= 0) return this.#relist(signal, version);
    try {
      await withDeadline({ clock: this.#clock, ms, what: "Watching", signal }, (until) =>
        this.#watch(until, version),
      );
    } catch (error) {
      // Not a failure: the next list is due.
      if (!(error instanceof DeadlineExceeded)) throw error;
    }
  }

  async #watch(signal: AbortSignal, version: string): Promise<void> {
    const openedMs = this.#clock.monotonicMs();
    const { min, max } = this.#watchSeconds;
    let hasReceived = false;
    const lines = this.#client.watch({
      ...this.#selection,
      resourceVersion: version,
      timeoutSeconds: Math.round(min + (max - min) * this.#random()),
      idleDeadlineMs: this.#idleDeadlineMs,
      onOpened: () => this.#hearing.noteOpened(),
      signal,
    });
    for await (const line of lines) {
      if (signal.aborted) return;
      this.#take(line);
      hasReceived = true;
      this.#failures = 0;
    }
    if (!hasReceived && this.#clock.monotonicMs() - openedMs < shortWatchMs) {
      throw new KubeError({
        reason: "Unreachable",
        message: "The watch was closed immediately after it was opened.",
      });
    }
    this.#failures = 0;
    this.#hearing.noteWord();
    this.#metrics?.watchEnded("closed");
  }

  #take(line: string): void {
    const event = decodeWatchLine(this.#client.type, line);
    this.#hearing.noteWord();
    if (event.type === "changed") this.cache.upsert(event.object);
    else if (event.type === "deleted") this.cache.remove(event.object);
    else if (event.type === "rejected") this.#reject(event.error);
    if (this.#version === undefined || !isOlderVersion(event.resourceVersion, this.#version)) {
      this.#version = event.resourceVersion;
    }
  }

  /** Lists at the exact version of the watch, so that any difference is a change that the watch missed. */
  async #relist(signal: AbortSignal, version: string): Promise<void> {
    this.#nextRelistMs = this.#clock.monotonicMs() + jittered(this.#relistIntervalMs, this.#random, 0.1);
    const { items } = await this.#client.listAll({
      ...this.#selection,
      resourceVersion: version,
      resourceVersionMatch: "Exact",
      signal,
      onRejected: (error) => this.#reject(error),
    });
    if (signal.aborted) return;
    this.#hearing.noteResponse();
    const { added, updated, deleted } = this.cache.replace(items, version);
    const drift = added + updated + deleted;
    this.#metrics?.listed(items.length);
    this.#metrics?.drifted(drift);
    if (drift > 0)
      this.#logger.warn({ added, updated, deleted }, "A relist found changes that the watch missed.");
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#failures++;
    this.#isVersionUnknown = true;
    this.#hearing.noteFailure();
    this.#tooLarge = isVersionTooLarge(error) ? this.#tooLarge + 1 : 0;
    if (this.#tooLarge > 1 && this.#listDue === undefined) {
      // A lagging replica would have caught up by now, so the storage has gone back in time.
      this.#listDue = "reset";
      return;
    }
    if (isGone(error)) {
      this.#metrics?.watchEnded("gone");
      this.#noteFreshListDue();
      if (this.#failures === 1) return;
    } else {
      this.#metrics?.watchEnded("failed");
      // A watch from the same version would always fail in the same way.
      if (!isTransient(error) || (isMalformedResponse(error) && this.#failures >= 3))
        this.#noteFreshListDue();
    }
    const waitMs = Math.max(
      backOffMs(this.#backOff, this.#failures, this.#random),
      error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1000 : 0,
    );
    this.#logger.warn(
      { err: error, waitMs: Math.round(waitMs), failures: this.#failures },
      "A watch broke and will be retried.",
    );
    await sleepUntilAborted(this.#clock, waitMs, signal);
  }

  /** Schedules a new list. A pending reset is kept. */
  #noteFreshListDue(): void {
    if (this.#listDue !== "reset") this.#listDue = "fresh";
  }

  #reject(error: unknown): void {
    this.#metrics?.rejected();
    this.#logger.error({ err: error }, "An invalid object was skipped.");
  }
}
