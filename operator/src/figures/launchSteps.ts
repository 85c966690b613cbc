import type { GameSession } from "#contracts/crd/gameSession.ts";
import {
  measuredLaunchStepOf,
  measuredLaunchSteps,
  type MeasuredLaunchStep,
} from "#contracts/crd/launchStep.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { isContentCached } from "../content/fill.ts";

/** What following the launches needs. */
export interface LaunchStepsDeps {
  cluster: Pick<Cluster, "gameSessions" | "gameNodes">;
  clock: Pick<Clock, "monotonicMs">;
  /** Called with how long a launch was in a step, once it has left that for a later one. */
  onStep: (step: MeasuredLaunchStep, seconds: number) => void;
}

interface Launch {
  step: MeasuredLaunchStep | undefined;
  /** When that step began, by this process's clock; undefined where the process came later. */
  sinceMs: number | undefined;
  seconds: Partial<Record<MeasuredLaunchStep, number>>;
}

/**
 * Measures by this process's own clock how long each launch is in each step: the times of conditions are
 * whole seconds, and of several machines. Steps that end together are counted as the first of them. What had
 * begun before the process is not measured.
 */
export class LaunchSteps {
  readonly #deps: LaunchStepsDeps;
  readonly #launches = new Map<string, Launch>();

  constructor(deps: LaunchStepsDeps) {
    this.#deps = deps;
    deps.cluster.gameSessions.subscribe(({ type, object }) => {
      if (type === "deleted" || isFinished(object)) this.#launches.delete(keyOf(object));
      else this.#update(object);
    });
  }

  /** Returns how long the session's launch was in each step that it has done with. */
  secondsOf(key: string): Readonly<Partial<Record<MeasuredLaunchStep, number>>> {
    return this.#launches.get(key)?.seconds ?? {};
  }

  #update(session: Stored<GameSession>): void {
    const step = measuredLaunchStepOf(session, isContentCached(this.#deps.cluster, session));
    const nowMs = this.#deps.clock.monotonicMs();
    const launch = this.#launches.get(keyOf(session));
    if (launch === undefined) {
      // Nobody has written a status yet: the session has just been made.
      this.#launches.set(keyOf(session), {
        step,
        sinceMs: session.status === undefined ? nowMs : undefined,
        seconds: {},
      });
      return;
    }
    if (step === launch.step || launch.step === undefined) return;
    // A session that moves to another node goes back to an earlier step: the step that it leaves is not done.
    const isLater =
      step === undefined || measuredLaunchSteps.indexOf(step) > measuredLaunchSteps.indexOf(launch.step);
    if (isLater && launch.sinceMs !== undefined) {
      const seconds = (nowMs - launch.sinceMs) / 1000;
      launch.seconds[launch.step] = seconds;
      this.#deps.onStep(launch.step, seconds);
    }
    launch.step = step;
    launch.sinceMs = nowMs;
  }
}
