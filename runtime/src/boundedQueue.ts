import PQueue from "p-queue";

/** How much goes on at once, how much may wait, and for how many milliseconds. */
export interface BoundedQueueOptions {
  concurrency: number;
  waitingMax: number;
  deadlineMs: number;
  /** Makes the error for work that has waited for `deadlineMs`, or comes while `waitingMax` others wait. */
  tooMany: () => Error;
}

/** Bounds how much work goes on at once. The rest waits: the highest priority goes first, and of equal priorities what came first. */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #queue: PQueue;

  constructor(options: BoundedQueueOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  /** Runs `work` in its turn and returns its result. Throws when too much waits, when `work` has waited too long, or the signal's reason when that ends the wait. */
  async run<T>(work: () => Promise<T>, { priority = 0, signal }: { priority?: number; signal?: AbortSignal } = {}): Promise<T> {
    const { waitingMax, deadlineMs, tooMany } = this.#options;
    if (this.#queue.size >= waitingMax) throw tooMany();
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(tooMany()), deadlineMs);
    const begin = (): Promise<T> => {
      clearTimeout(timer);
      return work();
    };
    try {
      return await this.#queue.add(begin, { signal: signal === undefined ? waiting.signal : AbortSignal.any([waiting.signal, signal]), priority });
    } finally {
      clearTimeout(timer);
    }
  }
}
