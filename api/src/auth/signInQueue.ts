import PQueue from "p-queue";
import { unavailable } from "../errors.ts";

/** How many sign-ins go on at once, how many may wait, and for how many milliseconds. */
export interface SignInQueueOptions {
  concurrency: number;
  waitingMax: number;
  deadlineMs: number;
}

/** Bounds how many sign-ins ask the stores at once; the others wait, first come, first served. */
export class SignInQueue {
  readonly #options: SignInQueueOptions;
  readonly #queue: PQueue;

  constructor(options: SignInQueueOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  /** Runs `work` in its turn and returns its result. Throws unavailable when too many wait, or when `work` has waited too long. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#queue.size >= this.#options.waitingMax) throw tooManySignIns();
    const waiting = new AbortController();
    const timer = setTimeout(() => waiting.abort(tooManySignIns()), this.#options.deadlineMs);
    const begin = (): Promise<T> => {
      clearTimeout(timer);
      return work();
    };
    try {
      return await this.#queue.add(begin, { signal: waiting.signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns the error for a sign-in that found too many others: it may be repeated in a moment. */
export function tooManySignIns(): Error {
  return unavailable("Too many sign-ins at once: try again in a moment.", undefined, 2);
}
