import { type BackOff } from "#runtime/scheduling/backOff.ts";
import { type Clock, sleepUntilAborted, systemClock } from "#runtime/scheduling/clock.ts";
import { type Logger } from "#runtime/logger.ts";
import type { Source } from "../cache/source.ts";
import { WorkQueue, type WorkQueueMetrics } from "./workQueue.ts";
import { untilAborted, withDeadline } from "#runtime/scheduling/deadline.ts";

/** The result of a reconcile: an optional delay after which the key is reconciled again. */
export interface ReconcileResult {
  requeueAfterMs?: number | undefined;
}

/** Context of a reconcile. */
export interface ReconcileContext {
  /** Aborted when the reconcile exceeds its timeout or the controller stops immediately. */
  signal: AbortSignal;
  /** Adds the controller's name and the key to each line. */
  logger: Logger;
}

/** Moves the object with this key closer to its desired state. An error is retried with backoff. */
export type Reconcile = (
  key: string,
  context: ReconcileContext,
  // oxlint-disable-next-line typescript/no-invalid-void-type -- a reconcile may return nothing
) => Promise<ReconcileResult | undefined | void>;

/** Receives metrics of each reconcile. */
export interface ControllerMetrics extends WorkQueueMetrics {
  reconciled(outcome: "done" | "requeued" | "failed", seconds: number): void;
}

export interface ControllerOptions {
  name: string;
  /** Watched objects, and the keys that each change affects. */
  sources: Source[];
  reconcile: Reconcile;
  logger: Logger;
  /** Number of keys reconciled concurrently. Defaults to 1. */
  workers?: number | undefined;
  /** Timeout of a reconcile. Defaults to 60 s. */
  timeoutMs?: number | undefined;
  /** Interval at which all keys are reconciled again. Defaults to 10 min. */
  resyncIntervalMs?: number | undefined;
  /** Time that a stop waits for running reconciles before it aborts them. Defaults to 10 s. */
  drainMs?: number | undefined;
  backOff?: BackOff | undefined;
  maxKeys?: number | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  metrics?: ControllerMetrics | undefined;
}

/** Calls `reconcile` for each key that may need work, and retries failures. */
export class Controller {
  readonly name: string;
  readonly #sources: Source[];
  readonly #reconcile: Reconcile;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #workers: number;
  readonly #timeoutMs: number;
  readonly #resyncIntervalMs: number;
  readonly #drainMs: number;
  readonly #metrics: ControllerMetrics | undefined;
  readonly #queue: WorkQueue;
  readonly #stopping = new AbortController();
  /** Aborts running reconciles when a stop has waited long enough. */
  readonly #cutting = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  #hasOverflowed = false;
  /** Keys of a full pass that do not fit into the queue yet. */
  #backlog: string[] = [];
  #started: Promise<void> | undefined;
  #running: Promise<unknown> | undefined;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#sources = options.sources;
    this.#reconcile = options.reconcile;
    this.#logger = options.logger.child({ controller: options.name });
    this.#clock = options.clock ?? systemClock;
    this.#workers = options.workers ?? 1;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#resyncIntervalMs = options.resyncIntervalMs ?? 600_000;
    this.#drainMs = options.drainMs ?? 10_000;
    this.#metrics = options.metrics;
    const { backOff, maxKeys, random, metrics } = options;
    this.#queue = new WorkQueue({ clock: this.#clock, backOff, maxKeys, random, metrics });
  }

  /**
   * Waits until all sources have synced, then starts the workers. Rejects when it is stopped or the signal is
   * aborted first. Starting twice has no effect.
   */
  async start(signal?: AbortSignal): Promise<void> {
    return (this.#started ??= this.#start(signal));
  }

  /** Waits for running reconciles, aborts them after the drain time, and resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#queue.shutDown();
    const timer = this.#clock.setTimer(this.#drainMs, () => this.#cutting.abort());
    await this.#running;
    timer.cancel();
  }

  /** Enqueues the key. */
  enqueue(key: string): void {
    if (!this.#queue.add(key)) this.#overflow(key);
  }

  /** Enqueues the key after `ms`. */
  enqueueAfter(key: string, ms: number): void {
    if (!this.#queue.addAfter(key, ms)) this.#overflow(key);
  }

  async #start(signal: AbortSignal | undefined): Promise<void> {
    const waiting = signal ? AbortSignal.any([signal, this.#stopping.signal]) : this.#stopping.signal;
    await Promise.all(this.#sources.map((source) => source.waitForSync(waiting)));
    for (const source of this.#sources) this.#unsubscribe.push(source.subscribe((key) => this.enqueue(key)));
    this.#enqueueAll();
    const workers = Array.from({ length: this.#workers }, () => this.#work());
    this.#running = Promise.all([...workers, this.#resync()]);
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.take();
      if (key === undefined) return;
      await this.#reconcileOnce(key);
      this.#catchUp();
    }
  }

  async #reconcileOnce(key: string): Promise<void> {
    const logger = this.#logger.child({ key });
    const startedMs = this.#clock.monotonicMs();
    const done = (outcome: "done" | "requeued" | "failed"): void =>
      this.#metrics?.reconciled(outcome, (this.#clock.monotonicMs() - startedMs) / 1000);
    try {
      const deadline = {
        clock: this.#clock,
        ms: this.#timeoutMs,
        what: `Reconciling ${key}`,
        signal: this.#cutting.signal,
      };
      const result = await withDeadline(deadline, (signal) =>
        untilAborted(this.#hold(key, { signal, logger }), signal),
      );
      this.#queue.forget(key);
      if (result?.requeueAfterMs !== undefined) this.enqueueAfter(key, result.requeueAfterMs);
      done(result?.requeueAfterMs === undefined ? "done" : "requeued");
    } catch (error) {
      const waitMs = this.#queue.addRateLimited(key);
      logger.warn(
        { err: error, waitMs: Math.round(waitMs), retries: this.#queue.retries(key) },
        "A reconcile failed and will be retried.",
      );
      done("failed");
    }
  }

  /**
   * A reconcile that ignores its signal frees the worker but keeps its key, so the key is never reconciled
   * concurrently.
   */
  async #hold(key: string, context: ReconcileContext): ReturnType<Reconcile> {
    try {
      return await this.#reconcile(key, context);
    } finally {
      this.#queue.done(key);
    }
  }

  async #resync(): Promise<void> {
    const { signal } = this.#stopping;
    while (await sleepUntilAborted(this.#clock, this.#resyncIntervalMs, signal)) this.#enqueueAll();
  }

  #enqueueAll(): void {
    this.#backlog = this.#sources.flatMap((source) => source.keys());
    this.#catchUp();
  }

  /** Moves keys from the backlog into the queue until it is full. Each key moves once, so this terminates. */
  #catchUp(): void {
    if (this.#backlog.length === 0 && this.#hasOverflowed) {
      this.#hasOverflowed = false;
      this.#backlog = this.#sources.flatMap((source) => source.keys());
    }
    for (
      let key = this.#backlog.at(-1);
      key !== undefined && this.#queue.add(key);
      key = this.#backlog.at(-1)
    )
      this.#backlog.pop();
  }

  /** A full queue drops the key but not the work: all keys are enqueued again as the queue empties. */
  #overflow(key: string): void {
    if (this.#stopping.signal.aborted || this.#hasOverflowed) return;
    this.#hasOverflowed = true;
    this.#logger.error({ key }, "The work queue is full. All objects are enqueued again as it empties.");
  }
}
