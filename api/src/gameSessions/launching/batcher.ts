import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/** How a batcher works. */
export interface BatcherOptions<T, R> {
  clock: Clock;
  /** The most items of one batch. */
  itemsMax: number;
  /** Items that wait at the same time; further ones are refused. */
  waitingMax: number;
  /** How long an item waits for its batch to begin. */
  patienceMs: number;
  /** What an item throws that would wait for longer, or with more. */
  tooMany: () => Error;
  /**
   * Does a batch, and returns for each item its result or what it throws. What this throws itself, each item
   * throws.
   */
  work: (items: readonly T[]) => Promise<readonly (R | Error)[]>;
  /** Whether what a batch throws would befall the next one, too: then those that wait throw it at once. */
  isLasting: (error: unknown) => boolean;
}

/** An item whose batch has not begun. */
interface Waiting<T, R> {
  item: T;
  done: PromiseWithResolvers<R>;
  timer: Timer;
}

/**
 * Does one batch after the other. Items that come while a batch is worked on are done together after it. An
 * item that comes alone waits for nothing. Of many that come at once, each batch shares the round trips, and
 * a lock that only one can hold.
 */
export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #waiting = new Set<Waiting<T, R>>();
  #isAtWork = false;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
  }

  /** Returns the item's result in the batch that it is done with. */
  async do(item: T): Promise<R> {
    const { clock, waitingMax, patienceMs, tooMany } = this.#options;
    if (this.#waiting.size >= waitingMax) throw tooMany();
    const done = Promise.withResolvers<R>();
    const giveUp = (): void => {
      this.#waiting.delete(waiting);
      done.reject(tooMany());
    };
    const waiting: Waiting<T, R> = { item, done, timer: clock.setTimer(patienceMs, giveUp) };
    this.#waiting.add(waiting);
    if (!this.#isAtWork) void this.#doBatches();
    return done.promise;
  }

  async #doBatches(): Promise<void> {
    this.#isAtWork = true;
    while (this.#waiting.size > 0) await this.#doBatch([...this.#waiting].slice(0, this.#options.itemsMax));
    this.#isAtWork = false;
  }

  async #doBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    this.#takeOut(batch);
    try {
      const results = await this.#options.work(batch.map(({ item }) => item));
      for (const [index, { done }] of batch.entries()) {
        const result = results[index];
        if (result === undefined) throw new Error("A batch returned fewer results than items.");
        if (result instanceof Error) done.reject(result);
        else done.resolve(result);
      }
    } catch (error) {
      for (const { done } of batch) done.reject(error);
      if (this.#options.isLasting(error)) this.#failWaiting(error);
    }
  }

  #failWaiting(error: unknown): void {
    const waiting = [...this.#waiting];
    this.#takeOut(waiting);
    for (const { done } of waiting) done.reject(error);
  }

  #takeOut(items: readonly Waiting<T, R>[]): void {
    for (const waiting of items) {
      this.#waiting.delete(waiting);
      waiting.timer.cancel();
    }
  }
}
