import PQueue from "p-queue";

/** The limits of a BoundedQueue. */
export interface BoundedQueueOptions {
  concurrency: number;
  waitingMax: number;
  deadlineMs: number;
  /** Returns the error for work that waited for `deadlineMs`, or was added while `waitingMax` others wait. */
  tooMany: () => Error;
}

/** Limits concurrent work. Waiting work starts by priority, then in the order in which it was added. */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #queue: PQueue;

  constructor(options: BoundedQueueOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  /**
   * Runs `work` once a slot is free and returns its result. The signal ends only the wait: work that has
   * started continues.
   *
   * @throws The error of `tooMany`, or the signal's reason.
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
 * Limits concurrent work in total and per owner. Work above the owner's limit waits in a queue of that owner,
 * so a single owner cannot fill the shared queue.
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
   * Runs `work` once the owner and the process have a free slot, and returns its result.
   *
   * @throws The error of `each` or `all`, whichever limit was exceeded, or the signal's reason.
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
