/** Runs pieces of work in the order they came, a fixed number at a time. */
export interface Semaphore {
  /** Returns what the work returns, and throws what it throws. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Returns a semaphore that lets `count` pieces of work run at a time. */
export function createSemaphore(count: number): Semaphore {
  const waiting: (() => void)[] = [];
  let free = count;

  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
