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

/**
 * Bounds how much work goes on at once, of all owners and of each. What an owner asks for besides waits
 * behind their own work, in no place of the others': a single owner would otherwise keep out everybody.
 */
export class SharedQueue {
  readonly #all: BoundedQueue;
  readonly #each: BoundedQueueOptions;
  readonly #owners = new Map<string, { queue: BoundedQueue; runs: number }>();

  constructor({ all, each }: { all: BoundedQueueOptions; each: BoundedQueueOptions }) {
    this.#all = new BoundedQueue(all);
    this.#each = each;
  }

  /**
   * Runs `work` in its turn and returns its result. Throws `each`'s tooMany when too much of the owner's
   * waits, or for too long, `all`'s when of everybody's, and the signal's reason when that ends the wait.
   */
  async run<T>(ownerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const owner = this.#owners.get(ownerId) ?? { queue: new BoundedQueue(this.#each), runs: 0 };
    this.#owners.set(ownerId, owner);
    owner.runs += 1;
    try {
      return await owner.queue.run(() => this.#all.run(work, { signal }), { signal });
    } finally {
      owner.runs -= 1;
      if (owner.runs === 0) this.#owners.delete(ownerId);
    }
  }
}
