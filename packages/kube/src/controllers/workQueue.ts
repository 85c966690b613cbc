import { type BackOff, backOffMs } from "#runtime/scheduling/backOff.ts";
import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";

/** Told of what happens in a queue. */
export interface WorkQueueMetrics {
  /** Keys waiting for a worker. */
  depth(length: number): void;
  /** A worker took a key that had waited so long. */
  waited(seconds: number): void;
  retried(): void;
}

export interface WorkQueueOptions {
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Per-key back-off; 5 ms to 1000 s unless given. */
  backOff?: BackOff | undefined;
  /** Most keys waiting or delayed; further ones are refused. 100 000 unless given. */
  maxKeys?: number | undefined;
  metrics?: WorkQueueMetrics | undefined;
}

/**
 * Keys waiting for workers. A key is in the queue once however often it is added, is with one worker at a
 * time, and is handed out again when it was added while being worked on.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backOff: BackOff;
  readonly #maxKeys: number;
  readonly #metrics: WorkQueueMetrics | undefined;
  /** In order of arrival; the value is when the key arrived. */
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

  /** Keys ready to be taken. */
  get length(): number {
    return this.#ready.size;
  }

  /** Adds a key; false when the queue is full or shut down and the key is not in it. */
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

  /** Adds the key after `ms`; of several delays of one key the earliest counts. */
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
   * Adds the key after its back-off, which doubles at each call until forget; returns the wait in
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

  /** Starts the key's back-off anew, as after a success. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key has been backed off since it was forgotten. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Waits for a key; undefined once the queue is shut down. Call done(key) when its work is over. */
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

  /** The work on the key is over; it comes up again when it was added meanwhile. */
  done(key: string): void {
    this.#processing.delete(key);
    if (this.#dirty.delete(key) && !this.#isShutDown) this.#makeReady(key);
  }

  /** Refuses new keys, drops those that wait, and lets idle workers end. */
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

  /**
   * Refuses new keys and drops delayed ones; those that are ready are still handed out, then the workers end.
   */
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
