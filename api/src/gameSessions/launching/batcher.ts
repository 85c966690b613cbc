import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/** Options of a batcher. */
export interface BatcherOptions<T, R> {
  clock: Clock;
  /** Maximum number of items in a batch. */
  itemsMax: number;
  /** Maximum number of waiting items; further ones are refused. */
  waitingMax: number;
  /** How long an item waits for its batch to start. */
  patienceMs: number;
  /** Returns the error of an item that is refused or has waited too long. */
  tooMany: () => Error;
  /**
   * Processes a batch and returns each item's result or error. If it throws, every item of the batch fails.
   */
  work: (items: readonly T[]) => Promise<readonly (R | Error)[]>;
  /** Returns whether a batch's error would fail the next one too. If so, all waiting items fail at once. */
  isLasting: (error: unknown) => boolean;
}

/** An item whose batch has not started. */
interface Waiting<T, R> {
  item: T;
  done: PromiseWithResolvers<R>;
  timer: Timer;
}

/**
 * Processes items in batches, one batch at a time. Items that arrive during a batch form the next one, so a
 * single item never waits, and many items share round trips and an exclusive lock.
 */
export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #waiting = new Set<Waiting<T, R>>();
  #isProcessing = false;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
  }

  /** Processes the item in a batch and returns its result. */
  async process(item: T): Promise<R> {
    const { clock, waitingMax, patienceMs, tooMany } = this.#options;
    if (this.#waiting.size >= waitingMax) throw tooMany();
    const done = Promise.withResolvers<R>();
    const giveUp = (): void => {
      this.#waiting.delete(waiting);
      done.reject(tooMany());
    };
    const waiting: Waiting<T, R> = { item, done, timer: clock.setTimer(patienceMs, giveUp) };
    this.#waiting.add(waiting);
    if (!this.#isProcessing) void this.#processBatches();
    return done.promise;
  }

  async #processBatches(): Promise<void> {
    this.#isProcessing = true;
    while (this.#waiting.size > 0)
      await this.#processBatch([...this.#waiting].slice(0, this.#options.itemsMax));
    this.#isProcessing = false;
  }

  async #processBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
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
