import { hostname } from "node:os";
import { type Event, events } from "./builtin.ts";
import { type Clock, systemClock } from "#runtime/clock.ts";
import { isNotFound, isTransient } from "./errors.ts";
import { buildEvent, buildSeries, subjectOf, type EventNote, type EventSeries } from "./eventSeries.ts";
import { type Logger, silentLogger } from "#runtime/logger.ts";
import type { KubeObject, ObjectRef, Stored } from "./object.ts";
import { ResourceClient } from "./resourceClient.ts";
import type { KubeTransport } from "./transport.ts";
import { TokenBuckets } from "./tokenBuckets.ts";
import { WorkQueue } from "./workQueue.ts";

export type { EventNote } from "./eventSeries.ts";

/** Records events; a controller needs no more of a recorder than this. */
export interface EventSink {
  record(regarding: Stored<KubeObject>, event: EventNote): void;
}

export interface EventRecorderOptions {
  transport: KubeTransport;
  /** The program, as "joypod.dev/operator". */
  controller: string;
  /** The process; the host name unless given, which in a pod is the pod's name. */
  instance?: string | undefined;
  logger?: Logger | undefined;
  clock?: Clock | undefined;
  /** Events waiting to be written; further ones are dropped. 1000 unless given. */
  maxWaiting?: number | undefined;
  /**
   * Per object: so many events at once, and one more each so many milliseconds. 25 and 300 000 unless given.
   */
  bucket?: { size: number; refillMs: number } | undefined;
}

const maxTries = 5;
/** Repetitions are written together after this long. */
const seriesDelayMs = 10_000;
/** A series ends when the event has not been seen for this long. */
const seriesEndMs = 360_000;

/**
 * Writes events in the background. Recording never throws and never waits; what is too much is dropped and
 * counted.
 */
export class EventRecorder implements EventSink {
  readonly #client: ResourceClient<Event>;
  readonly #controller: string;
  readonly #instance: string;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #buckets: TokenBuckets;
  readonly #queue: WorkQueue;
  readonly #series = new Map<string, EventSeries>();
  readonly #cutting = new AbortController();
  readonly #writing: Promise<void>;
  #dropped = 0;

  constructor({ transport, controller, instance, logger, clock, maxWaiting, bucket }: EventRecorderOptions) {
    this.#client = new ResourceClient(transport, events);
    this.#controller = controller;
    this.#instance = (instance ?? hostname()).slice(0, 128);
    this.#logger = logger ?? silentLogger;
    this.#clock = clock ?? systemClock;
    this.#maxWaiting = maxWaiting ?? 1000;
    const { size, refillMs } = bucket ?? { size: 25, refillMs: 300_000 };
    this.#buckets = new TokenBuckets({ clock: this.#clock, size, refillMs, maxBuckets: 4096 });
    this.#queue = new WorkQueue({
      clock: this.#clock,
      backOff: { baseMs: 500, maxMs: 30_000 },
      maxKeys: this.#maxWaiting,
    });
    this.#writing = this.#writeAll();
  }

  /** Events given up: too many at once, or refused by the server. */
  get dropped(): number {
    return this.#dropped;
  }

  record(regarding: Stored<KubeObject>, event: EventNote): void {
    const key = JSON.stringify([regarding.metadata.uid, event.type, event.reason, event.action, event.note]);
    const now = this.#clock.now();
    const nowMs = this.#clock.monotonicMs();
    const known = this.#series.get(key);
    if (known && nowMs - known.lastSeenMs < seriesEndMs) {
      Object.assign(known, { count: known.count + 1, lastSeen: now, lastSeenMs: nowMs });
      this.#enqueue(key, known.ref ? seriesDelayMs : 0);
      return;
    }
    if (!this.#buckets.take(regarding.metadata.uid)) {
      this.#dropped++;
      return;
    }
    this.#series.delete(key);
    this.#series.set(key, {
      regarding: subjectOf(regarding),
      event,
      count: 1,
      firstSeen: now,
      lastSeen: now,
      lastSeenMs: nowMs,
    });
    this.#forgetOldest();
    this.#enqueue(key, 0);
  }

  /** Writes what waits, for at most `deadlineMs`, and ends. */
  async stop(deadlineMs = 2000): Promise<void> {
    for (const [key, { count, writtenCount }] of this.#series) {
      if (count !== writtenCount) this.#queue.add(key);
    }
    this.#queue.drain();
    const timer = this.#clock.setTimer(deadlineMs, () => this.#cutting.abort());
    await this.#writing;
    timer.cancel();
  }

  #enqueue(key: string, ms: number): void {
    if (!this.#queue.addAfter(key, ms)) this.#drop(key);
  }

  async #writeAll(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      const series = this.#series.get(key);
      if (series && !this.#cutting.signal.aborted) await this.#write(key, series);
      this.#queue.done(key);
    }
  }

  async #write(key: string, series: EventSeries): Promise<void> {
    const { count } = series;
    if (count === series.writtenCount) return; // What was on its way at a stop has arrived.
    try {
      if (series.ref) await this.#countUp(series, series.ref);
      else await this.#create(series);
      series.writtenCount = count;
      this.#queue.forget(key);
    } catch (error) {
      if (isTransient(error) && this.#queue.retries(key) < maxTries) {
        this.#queue.addRateLimited(key);
        return;
      }
      this.#drop(key);
      this.#logger.warn(
        { err: error, reason: series.event.reason },
        "An event could not be written and is dropped.",
      );
    }
  }

  async #create(series: EventSeries): Promise<void> {
    const event = buildEvent(series, { controller: this.#controller, instance: this.#instance });
    const {
      metadata: { name, namespace },
    } = await this.#client.create(event, { signal: this.#cutting.signal });
    series.ref = { name, namespace };
  }

  async #countUp(series: EventSeries, ref: ObjectRef): Promise<void> {
    try {
      await this.#client.mergePatch(ref, { series: buildSeries(series) }, { signal: this.#cutting.signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // The API server keeps events for an hour only; this one is written anew.
      await this.#create(series);
    }
  }

  #drop(key: string): void {
    this.#dropped++;
    this.#series.delete(key);
    this.#queue.forget(key);
  }

  #forgetOldest(): void {
    const oldest = this.#series.keys().next();
    if (this.#series.size > this.#maxWaiting && oldest.done !== true) this.#series.delete(oldest.value);
  }
}
