import { BoundedQueue, type BoundedQueueOptions } from "./boundedQueue.ts";

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
