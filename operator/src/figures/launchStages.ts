import type { GameSession } from "#contracts/crd/gameSession.ts";
import { clusterLaunchStageOf, clusterLaunchStages, type ClusterLaunchStage } from "#contracts/crd/launchStage.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { CacheReader } from "#kube/cache.ts";
import { keyOf, type Stored } from "#kube/object.ts";
import type { Clock } from "#runtime/clock.ts";

/** What following the launches needs. */
export interface LaunchStagesDeps {
  gameSessions: CacheReader<GameSession>;
  clock: Pick<Clock, "monotonicMs">;
  /** Called with how long a launch was in a stage, once it has left that for a later one. */
  onStage: (stage: ClusterLaunchStage, seconds: number) => void;
}

interface Launch {
  stage: ClusterLaunchStage | undefined;
  /** When that stage began, by this process's clock; undefined where the process came later. */
  sinceMs: number | undefined;
  seconds: Partial<Record<ClusterLaunchStage, number>>;
}

/**
 * Measures by this process's own clock how long each launch is in each stage: the times of conditions are whole seconds, and of several machines.
 * Stages that end together are counted as the first of them. What had begun before the process is not measured.
 */
export class LaunchStages {
  readonly #deps: LaunchStagesDeps;
  readonly #launches = new Map<string, Launch>();

  constructor(deps: LaunchStagesDeps) {
    this.#deps = deps;
    deps.gameSessions.subscribe(({ type, object }) => {
      if (type === "deleted" || isFinished(object)) this.#launches.delete(keyOf(object));
      else this.#update(object);
    });
  }

  /** Returns how long the session's launch was in each stage that it has done with. */
  secondsOf(key: string): Readonly<Partial<Record<ClusterLaunchStage, number>>> {
    return this.#launches.get(key)?.seconds ?? {};
  }

  #update(session: Stored<GameSession>): void {
    const stage = clusterLaunchStageOf(session);
    const nowMs = this.#deps.clock.monotonicMs();
    const launch = this.#launches.get(keyOf(session));
    if (launch === undefined) {
      // Nobody has written a status yet: the session has just been made.
      this.#launches.set(keyOf(session), { stage, sinceMs: session.status === undefined ? nowMs : undefined, seconds: {} });
      return;
    }
    if (stage === launch.stage || launch.stage === undefined) return;
    // A session that moves to another node goes back: that stage goes on, and is none that was done with.
    const isLater = stage === undefined || clusterLaunchStages.indexOf(stage) > clusterLaunchStages.indexOf(launch.stage);
    if (isLater && launch.sinceMs !== undefined) {
      const seconds = (nowMs - launch.sinceMs) / 1000;
      launch.seconds[launch.stage] = seconds;
      this.#deps.onStage(launch.stage, seconds);
    }
    launch.stage = stage;
    launch.sinceMs = nowMs;
  }
}
