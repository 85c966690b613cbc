import { isFinished, isPrepared } from "#contracts/crd/sessionState.ts";
import {
  stopCauseOf,
  canHaveAnotherPod,
  hasAttemptLeft,
  hasContentFailed,
  nodeLost,
  podRejection,
  type StopCause,
} from "./stopCauses.ts";
import { deadlinesOf, isPast } from "./deadlines.ts";
import { missingImage } from "../../sessionPods/podState.ts";
import {
  currentPod,
  internetObstacle,
  isContentUnpacked,
  isSavePersisted,
  mayHavePlayed,
  obsoletePod,
  strayPod,
  type SessionWorld,
} from "./world.ts";

/**
 * The steps that bring a session closer to its desired state. Each is idempotent and starts from the observed
 * state.
 */
export type StepName =
  | "holdSession"
  | "assignNode"
  | "awaitContent"
  | "awaitNetwork"
  | "createPod"
  | "reportReadiness"
  | "adoptPod"
  | "moveToAnotherNode"
  | "leaveForImage"
  | "changePort"
  | "removeObsoletePod"
  | "recordStopping"
  | "deletePod"
  | "awaitGameEnd"
  | "awaitSave"
  | "finish"
  | "releasePod"
  | "releaseSession"
  | "deleteExpired";

/** The steps to take, in order. A step that has to wait ends the pass. */
export interface Plan {
  steps: StepName[];
  /** Why the session is stopped. Undefined while it continues and after it has finished. */
  cause?: StopCause;
}

/** Returns the next steps, decided from the observed state alone. */
export function planFor(world: SessionWorld): Plan {
  if (isFinished(world.session)) return { steps: ["releasePod", "releaseSession", "deleteExpired"] };
  // All later steps, including those of a stop, expect the pod at the place named in the status.
  if (strayPod(world) !== undefined) return { steps: ["adoptPod"] };
  const cause = stopCauseOf(world);
  return cause === undefined ? { steps: runningSteps(world) } : stopPlan(world, cause);
}

/** Steps that are safe if the caches miss a pod, or that detect it, as creating a pod does. */
const carefulSteps: ReadonlySet<StepName> = new Set([
  "awaitContent",
  "awaitNetwork",
  "createPod",
  "reportReadiness",
]);

/** Returns whether a plan for a session without a pod could end a game if the caches missed its pod. */
export function reliesOnAbsentPod({ steps }: Plan): boolean {
  return !steps.every((step) => carefulSteps.has(step));
}

function runningSteps(world: SessionWorld): StepName[] {
  if (world.session.status?.nodeName === undefined) return ["holdSession", "assignNode"];
  if (obsoletePod(world) !== undefined) return ["removeObsoletePod"];
  const rejected = podRejection(world);
  if (rejected && canHaveAnotherPod(world, rejected))
    return [rejected.isPortConflict ? "changePort" : "moveToAnotherNode"];
  if (shouldMove(world)) return ["moveToAnotherNode"];
  if (isImageMissing(world) && hasAttemptLeft(world)) return ["leaveForImage", "reportReadiness"];
  // The pod restores the save itself, and its game waits for that.
  if (!isContentUnpacked(world) && currentPod(world) === undefined) return ["awaitContent"];
  if (internetObstacle(world) === "Awaited") return ["awaitNetwork"];
  return ["createPod", "reportReadiness"];
}

function shouldMove(world: SessionWorld): boolean {
  if (!hasAttemptLeft(world)) return false;
  // A pod that still waits for files has no game that could be lost. It is removed like the pod of a former
  // place.
  if (!isPrepared(world.session) && hasContentFailed(world)) return true;
  return world.nodeHealth === "Lost" && world.pod === undefined;
}

function isImageMissing(world: SessionWorld): boolean {
  const pod = currentPod(world);
  return pod !== undefined && missingImage(pod) !== undefined;
}

function stopPlan(world: SessionWorld, cause: StopCause): Plan {
  const { session } = world;
  const pod = currentPod(world);
  const nodeName = session.status?.nodeName;
  const isLost = world.nodeHealth === "Lost" && nodeName !== undefined;
  const mayHaveRun = mayHavePlayed(world);
  if (isLost && mayHaveRun && !isSavePersisted(session)) {
    // No agent is left to end the game or store its save. Waiting would only hide the loss.
    const { failure } = nodeLost(nodeName);
    return {
      steps: ["finish"],
      cause: failure && cause.failure === undefined ? { ...cause, failure } : cause,
    };
  }
  if (isLost || (pod === undefined && session.status?.podRef === undefined))
    return { steps: ["finish"], cause };
  if (pod === undefined) return { steps: ["recordStopping", "awaitSave", "finish"], cause };
  return { steps: ["recordStopping", "deletePod", "awaitGameEnd", "awaitSave", "finish"], cause };
}

/**
 * Returns whether the status must record the stop now. If the spec does not request the stop, or no pod shows
 * when it began, the status is written before anything is deleted. Otherwise it is written only if the stop
 * takes long, which saves a write.
 */
export function needsStoppingNote(world: SessionWorld): boolean {
  const { session, pod } = world;
  if (session.status?.stoppingAt !== undefined) return false;
  return (
    session.spec.desiredState !== "Stopped" ||
    pod === undefined ||
    isPast(deadlinesOf(world).stoppingNote, world)
  );
}
