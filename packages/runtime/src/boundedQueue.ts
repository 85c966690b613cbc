import PQueue from "p-queue";

/** How much goes on at once, how much may wait, and for how many milliseconds. */
export interface BoundedQueueOptions {
  concurrency: number;
  waitingMax: number;
  deadlineMs: number;
  /** Makes the error for work that has waited for `deadlineMs`, or comes while `waitingMax` others wait. */
  tooMany: () => Error;
}

/**
 * Bounds how much work goes on at once. The rest waits: the highest priority goes first, and of equal
 * priorities what came first.
 */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #queue: PQueue;

  constructor(options: BoundedQueueOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  /**
   * Runs `work` in its turn and returns its result. Throws when too much waits, when `work` has waited too
   * long, or the signal's reason when that ends the wait; work that has begun goes on.
   */
  async run<T>(
    work: () => Promise<T>,
    { priority = 0, signal }: { priority?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const { waitingMax, deadlineMs, tooMany } = this.#options;
    signal?.throwIfAborted();
    if (this.#queue.size >= waitingMax) throw tooMany();
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(tooMany()), deadlineMs);
    const onAbort = (): void => waiting.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const endWait = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const begin = (): Promise<T> => {
      endWait();
      return work();
    };
    try {
      return await this.#queue.add(begin, { signal: waiting.signal, priority });
    } finally {
      endWait();
    }
  }
}
