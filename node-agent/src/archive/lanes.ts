/** Runs pieces of work in the order they came, so many at once. */
export interface Lanes {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createLanes(count: number): Lanes {
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
