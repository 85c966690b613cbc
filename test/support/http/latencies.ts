import { setTimeout as delay } from "node:timers/promises";

/**
 * Pause between requests: short enough for hundreds of samples in some seconds, but too long to cause load.
 */
const pauseMs = 10;

/**
 * Repeats a request until the work has ended, and at least this many times. Returns the milliseconds of each
 * response.
 */
export async function latenciesDuring(
  work: Promise<unknown>,
  ask: () => Promise<unknown>,
  atLeast = 1,
): Promise<number[]> {
  const milliseconds: number[] = [];
  const progress = { isOver: false };
  void work.catch(() => undefined).finally(() => (progress.isOver = true));
  while (!progress.isOver || milliseconds.length < atLeast) {
    const startedMs = performance.now();
    await ask();
    milliseconds.push(performance.now() - startedMs);
    await delay(pauseMs);
  }
  return milliseconds;
}
