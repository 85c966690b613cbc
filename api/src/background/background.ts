import type { BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import { createPopularityRefresher, type PopularityDeps } from "../catalog/popularityRefresher.ts";
import { LeaderWork, type LeaderWorkDeps } from "./leaderWork.ts";

/** The background work of a replica. */
export interface Background extends BackgroundJob {
  /** Whether this replica does the part of the work that only one replica does. */
  readonly isLeader: boolean;
  /** Leaves that part to another replica; the rest, which requests need, goes on until the stop. */
  resign(): Promise<void>;
}

/** All background work as one; started before the first request, stopped after the last. */
export function createBackground(
  deps: PopularityDeps & LeaderWorkDeps & { maintenance: BackgroundJob },
): Background {
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
