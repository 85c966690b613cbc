import { setTimeout as delay } from "node:timers/promises";

/**
 * A client who asks often enough for hundreds of samples in some seconds, and not so often that it is the
 * load itself.
 */
const pauseMs = 10;

/**
 * Asks over and over until the work has ended, and so often at least; returns how long each response took, in
 * milliseconds.
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
