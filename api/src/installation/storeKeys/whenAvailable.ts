import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { MinioRefused } from "./minioAdmin.ts";

const backOff = { baseMs: 250, maxMs: 5_000 };

/**
 * Repeats the work while MinIO cannot be reached or is not ready, for as long as `waitMs`. Throws its last
 * error, and at once what waiting cannot mend.
 */
export async function whenAvailable(
  work: () => Promise<void>,
  waitMs: number,
  clock: Clock = systemClock,
  random: () => number = Math.random,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (let failures = 1; ; failures++) {
    try {
      await work();
      return;
    } catch (error) {
      const pauseMs = backOffMs(backOff, failures, random);
      if ((error instanceof MinioRefused && error.status < 500) || clock.monotonicMs() + pauseMs > deadlineMs)
        throw error;
      await clock.sleep(pauseMs);
    }
  }
}
