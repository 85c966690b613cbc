import { RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Readiness } from "../http/health.ts";

const periodMs = 15_000;

/**
 * Looks at the stores from the start on, in each process, so that the log says what is wrong with one of them
 * even when nobody asks `/readyz`.
 */
export function createStoreWatch({
  readiness,
  clock,
  logger,
}: {
  readiness: Readiness;
  clock: Clock;
  logger: Logger;
}): RepeatedJob {
  return new RepeatedJob({
    name: "stores",
    periodMs,
    clock,
    logger,
    // Each look logs for itself when something has changed.
    work: () => Promise.allSettled([readiness.database.check(), readiness.objectStore.check()]),
  });
}
