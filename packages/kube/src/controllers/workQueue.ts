import { type BackOff, backOffMs } from "#runtime/scheduling/backOff.ts";
import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";

/** Receives metrics of a queue. */
export interface WorkQueueMetrics {
  /** Keys waiting for a worker. */
  depth(length: number): void;
  /** A worker took a key after this wait. */
  waited(seconds: number): void;
  retried(): void;
}

export interface WorkQueueOptions {
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Backoff per key. Defaults to 5 ms up to 1000 s. */
  backOff?: BackOff | undefined;
  /** Maximum number of waiting or delayed keys; more are rejected. Defaults to 100 000. */
  maxKeys?: number | undefined;
  metrics?: WorkQueueMetrics | undefined;
}

/**
 * A queue of keys for workers. A key is queued at most once and processed by one worker at a time. A key that
 * is added while it is processed is queued again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backOff: BackOff;
  readonly #maxKeys: number;
  readonly #metrics: WorkQueueMetrics | undefined;
  /** In order of arrival. The value is the time of arrival. */
  readonly #ready = new Map<string, number>();
  readonly #processing = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, { dueMs: number; timer: Timer }>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #isShutDown = false;

  constructor({ clock, random, backOff, maxKeys, metrics }: WorkQueueOptions = {}) {
    this.#clock = clock ?? systemClock;
    this.#random = random ?? Math.random;
    this.#backOff = backOff ?? { baseMs: 5, maxMs: 1_000_000 };
    this.#maxKeys = maxKeys ?? 100_000;
    this.#metrics = metrics;
  }

  /** Number of keys that are ready. */
  get length(): number {
    return this.#ready.size;
  }

  /** Adds a key. Returns false if the queue is full or shut down and does not contain the key. */
  add(key: string): boolean {
    if (this.#isShutDown) return false;
    if (this.#processing.has(key)) {
      this.#dirty.add(key);
      return true;
    }
    if (this.#ready.has(key)) return true;
    if (this.#isFull()) return false;
    this.#makeReady(key);
    return true;
  }

  /** Adds the key after `ms`. If the key is already delayed, the earlier time counts. */
  addAfter(key: string, ms: number): boolean {
    if (ms <= 0) return this.add(key);
    if (this.#isShutDown) return false;
    const dueMs = this.#clock.monotonicMs() + ms;
    const planned = this.#delayed.get(key);
    if (planned) {
      if (planned.dueMs <= dueMs) return true;
      planned.timer.cancel();
    } else if (this.#isFull()) {
      return false;
    }
    const timer = this.#clock.setTimer(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, timer });
    return true;
  }

  /**
   * Adds the key after its backoff, which doubles with each call until forget. Returns the delay in
   * milliseconds.
   */
  addRateLimited(key: string): number {
    const failures = this.retries(key) + 1;
    this.#failures.set(key, failures);
    this.#metrics?.retried();
    const waitMs = backOffMs(this.#backOff, failures, this.#random);
    this.addAfter(key, waitMs);
    return waitMs;
  }

  /** Resets the backoff of the key, for example after a success. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Number of retries of the key since the last forget. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * Waits for a key. Resolves with undefined once the queue is shut down. Call done(key) after processing.
   */
  async take(): Promise<string | undefined> {
    const next = this.#ready.entries().next();
    if (next.done !== true) {
      const [key, sinceMs] = next.value;
      this.#ready.delete(key);
      return this.#handOut(key, sinceMs);
    }
    if (this.#isShutDown) return undefined;
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Marks the key as processed. It becomes ready again if it was added in the meantime. */
  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.delete(key) && !this.#isShutDown) this.#makeReady(key);
  }

  /** Rejects new keys, drops waiting ones and lets idle workers end. */
  shutDown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#dirty.clear();
    this.#failures.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
  }

  /** Rejects new keys and drops delayed ones. Workers process the remaining ready keys and then end. */
  drain(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    for (const key of this.#dirty) this.#ready.set(key, this.#clock.monotonicMs());
    this.#dirty.clear();
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
  }

  #makeReady(key: string): void {
    const now = this.#clock.monotonicMs();
    const taker = this.#takers.shift();
    if (taker) {
      taker(this.#handOut(key, now));
      return;
    }
    this.#ready.set(key, now);
    this.#metrics?.depth(this.#ready.size);
  }

  #handOut(key: string, sinceMs: number): string {
    this.#processing.add(key);
    this.#metrics?.depth(this.#ready.size);
    this.#metrics?.waited((this.#clock.monotonicMs() - sinceMs) / 1000);
    return key;
  }

  #isFull(): boolean {
    return this.#ready.size + this.#delayed.size >= this.#maxKeys;
  }
}
