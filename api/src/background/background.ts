import type { Logger } from "#runtime/logger.ts";
import { type BackgroundJob, RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { createPopularityRefresher } from "../catalog/popularity.ts";
import { LeaderWork } from "./leaderWork.ts";
import type { Readiness } from "../http/health.ts";
import type { Deps } from "../deps.ts";

const periodMs = 15_000;

/** The background work of a replica. */
export interface Background extends BackgroundJob {
  /** Whether this replica does the part of the work that only one replica does. */
  readonly isLeader: boolean;
  /** Leaves that part to another replica; the rest, which requests need, goes on until the stop. */
  resign(): Promise<void>;
}

/** All background work as one; started before the first request, stopped after the last. */
export function createBackground(deps: Deps): Background {
  const leaderWork = new LeaderWork(deps);
  const jobs: BackgroundJob[] = [createPopularityRefresher(deps), deps.cluster, deps.maintenance, leaderWork];
  return {
    get isLeader() {
      return leaderWork.isLeader;
    },
    resign: () => leaderWork.stop(),
    start: async () => {
      for (const job of jobs) await job.start();
    },
    stop: async () => {
      await Promise.all(jobs.map((job) => job.stop()));
    },
  };
}

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
