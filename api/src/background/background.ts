import type { BackgroundJob } from "#runtime/backgroundJob.ts";
import { createPopularityRefresher, type PopularityDeps } from "../catalog/popularityRefresher.ts";
import { LeaderWork, type LeaderWorkDeps } from "./leaderWork.ts";

/** All background work as one; started before the first request, stopped after the last. */
export function createBackground(deps: PopularityDeps & LeaderWorkDeps & { maintenance: BackgroundJob }): BackgroundJob {
  const jobs: BackgroundJob[] = [createPopularityRefresher(deps), deps.cluster, deps.maintenance, new LeaderWork(deps)];
  return {
    start: async () => {
      for (const job of jobs) await job.start();
    },
    stop: async () => {
      await Promise.all(jobs.map((job) => job.stop()));
    },
  };
}
