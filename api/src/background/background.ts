import type { Logger } from "#runtime/logger.ts";
import { type BackgroundJob, RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { createPopularityRefresher } from "../catalog/popularity.ts";
import { LeaderWork } from "./leaderWork.ts";
import { WebhookSender } from "../webhooks/sender.ts";
import type { Readiness } from "../http/health.ts";
import type { Deps } from "../deps.ts";

const periodMs = 15_000;

/** The background work of a replica. */
export interface Background extends BackgroundJob {
  /** Whether this replica is the leader. */
  readonly isLeader: boolean;
  /** Hands the leader's work to another replica. Work that requests need continues until the stop. */
  resign(): Promise<void>;
}

/** Creates all background work, which is started before the first request and stopped after the last. */
export function createBackground(deps: Deps): Background {
  const leaderWork = new LeaderWork(deps);
  const jobs: BackgroundJob[] = [
    createPopularityRefresher(deps),
    deps.cluster,
    deps.maintenance,
    deps.announcements,
    leaderWork,
    ...(deps.config.webhooks.isEnabled ? [new WebhookSender(deps)] : []),
  ];
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

/** Checks the stores regularly in each process, so failures are logged even if nobody calls `/readyz`. */
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
    // Each check logs its own changes.
    work: () => Promise.allSettled([readiness.database.check(), readiness.objectStore.check()]),
  });
}
