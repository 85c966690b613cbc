import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { type Logger, silentLogger } from "#runtime/logger.ts";
import { type Event, events } from "../api/builtin.ts";
import { isNotFound, isTransient } from "../api/errors.ts";
import { type KubeObject, type ObjectRef, type Stored, toApiMicroTime, type Draft } from "../api/object.ts";
import { ResourceClient } from "../client/resourceClient.ts";
import type { KubeTransport } from "../client/transport.ts";
import { WorkQueue } from "./workQueue.ts";

/** Records events. Controllers only need this part of a recorder. */
export interface EventSink {
  record(regarding: Stored<KubeObject>, event: EventNote): void;
}

export interface EventRecorderOptions {
  transport: KubeTransport;
  /** Name of the program, for example "joypod.dev/operator". */
  controller: string;
  /** Name of the process. Defaults to the host name, which is the pod's name in a pod. */
  instance?: string | undefined;
  logger?: Logger | undefined;
  clock?: Clock | undefined;
  /** Maximum number of waiting events; more are dropped. Defaults to 1000. */
  maxWaiting?: number | undefined;
  /** Token bucket per object: burst size and milliseconds per refilled event. Defaults to 25 and 300 000. */
  bucket?: { size: number; refillMs: number } | undefined;
}

const maxTries = 5;
/** Delay after which repetitions are written together. */
const seriesDelayMs = 10_000;
/** Time without a repetition after which a series ends. */
const seriesEndMs = 360_000;

/**
 * Writes events in the background. Recording never throws or waits; events above the limits are dropped and
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

  /** Number of dropped events: above the limits, or rejected by the server. */
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

  /** Writes waiting events for at most `deadlineMs`, then stops. */
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
    if (count === series.writtenCount) return; // A write that was in flight at the stop has succeeded.
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
        "An event could not be written and was dropped.",
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
      // The API server deletes events after an hour. This event is written as a new one.
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

/** A human-readable event. */
export interface EventNote {
  type: "Normal" | "Warning";
  /** Reason in CamelCase, for example "GameDownloaded". */
  reason: string;
  /** Attempted action in CamelCase, for example "Download". */
  action: string;
  /** One sentence. Truncated to 1024 bytes, the limit of the API. */
  note: string;
}

/** The object of an event. A series outlives the object by minutes, so it must not keep the whole object. */
export type EventSubject = Pick<Stored<KubeObject>, "apiVersion" | "kind"> & {
  metadata: Pick<Stored<KubeObject>["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;
};

/** Returns the subject of an event about the object. */
export function subjectOf({
  apiVersion,
  kind,
  metadata: { name, namespace, uid, resourceVersion },
}: Stored<KubeObject>): EventSubject {
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } };
}

/**
 * An event and its number of occurrences. A repetition increases the count instead of writing a new event.
 */
export interface EventSeries {
  regarding: EventSubject;
  event: EventNote;
  count: number;
  firstSeen: Date;
  lastSeen: Date;
  lastSeenMs: number;
  /** The Event object once it is created, and the count it was last written with. */
  ref?: ObjectRef | undefined;
  writtenCount?: number | undefined;
}

const maxNoteBytes = 1024;
const maxNameLength = 253;

/** Builds the Event object of a series. */
export function buildEvent(series: EventSeries, by: { controller: string; instance: string }): Draft<Event> {
  const {
    regarding: { apiVersion, kind, metadata },
    event,
    firstSeen,
  } = series;
  const unique = `.${firstSeen.getTime().toString(16)}${randomBytes(4).toString("hex")}`;
  return {
    metadata: {
      name: metadata.name.slice(0, maxNameLength - unique.length) + unique,
      // Events of cluster-scoped objects live in "default", where kubectl describe looks for them.
      namespace: metadata.namespace ?? "default",
    },
    eventTime: toApiMicroTime(firstSeen),
    reportingController: by.controller,
    reportingInstance: by.instance,
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: cutToBytes(event.note, maxNoteBytes),
    regarding: {
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    },
    ...(series.count > 1 ? { series: buildSeries(series) } : {}),
  };
}

/** Builds the part of an Event that counts repetitions. */
export function buildSeries({ count, lastSeen }: EventSeries): { count: number; lastObservedTime: string } {
  // The API rejects a series with a count of one.
  return { count: Math.max(2, count), lastObservedTime: toApiMicroTime(lastSeen) };
}

function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A truncated character decodes to U+FFFD, which is removed too.
  return (
    bytes
      .subarray(0, maxBytes - 3)
      .toString()
      .replace(/\uFFFD+$/, "") + "…"
  );
}

export interface TokenBucketsOptions {
  clock: Clock;
  /** Capacity of a bucket. */
  size: number;
  /** Milliseconds per refilled token. */
  refillMs: number;
  /** Maximum number of buckets. The least recently used one is removed first. */
  maxBuckets: number;
}

/** A token bucket per key: allows bursts and limits a steady flow to the refill rate. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(options: TokenBucketsOptions) {
    this.#options = options;
  }

  /** Takes a token from the key's bucket. Returns false if it is empty. */
  take(key: string): boolean {
    const { clock, size, refillMs, maxBuckets } = this.#options;
    const now = clock.monotonicMs();
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: size, atMs: now };
    const filled = Math.min(size, tokens + (now - atMs) / refillMs);
    const isTaken = filled >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: isTaken ? filled - 1 : filled, atMs: now });
    const oldest = this.#buckets.keys().next();
    if (this.#buckets.size > maxBuckets && oldest.done !== true) this.#buckets.delete(oldest.value);
    return isTaken;
  }
}
