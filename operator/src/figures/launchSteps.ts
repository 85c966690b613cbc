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

/** Dependencies of LaunchSteps. */
export interface LaunchStepsDeps {
  cluster: Pick<Cluster, "gameSessions" | "gameNodes">;
  clock: Pick<Clock, "monotonicMs">;
  /** Called with the duration of a step once the launch has moved on to a later one. */
  onStep: (step: MeasuredLaunchStep, seconds: number) => void;
}

interface Launch {
  step: MeasuredLaunchStep | undefined;
  /** When the step began, by this process's clock. Undefined if it began before this process started. */
  sinceMs: number | undefined;
  seconds: Partial<Record<MeasuredLaunchStep, number>>;
}

/**
 * Measures how long each launch spends in each step, by this process's clock: the times of conditions are
 * whole seconds from several machines. Steps that end together count as the first of them. Steps that began
 * before this process started are not measured.
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

  /** Returns how long the session's launch spent in each completed step. */
  secondsOf(key: string): Readonly<Partial<Record<MeasuredLaunchStep, number>>> {
    return this.#launches.get(key)?.seconds ?? {};
  }

  #update(session: Stored<GameSession>): void {
    const step = measuredLaunchStepOf(session, isContentCached(this.#deps.cluster, session));
    const nowMs = this.#deps.clock.monotonicMs();
    const launch = this.#launches.get(keyOf(session));
    if (launch === undefined) {
      // Without a status the session was created just now.
      this.#launches.set(keyOf(session), {
        step,
        sinceMs: session.status === undefined ? nowMs : undefined,
        seconds: {},
      });
      return;
    }
    if (step === launch.step || launch.step === undefined) return;
    // A session that moves to another node returns to an earlier step. The step that it leaves is not
    // complete.
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
