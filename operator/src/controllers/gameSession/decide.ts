import { isFinished, isPrepared } from "#contracts/crd/sessionConditions.ts";
import { endingOf, hasAttemptLeft, hasContentFailed, nodeLost, refusalOf, type Ending } from "./endings.ts";
import { currentPod, internetObstacle, isContentUnpacked, isSavePersisted, mayHavePlayed, obsoletePod, type SessionWorld } from "./world.ts";

/** The steps by which a session is brought nearer to what is wanted; each may run twice, and each starts from what it observes. */
export type StepName =
  | "addFinalizer" | "assignNode" | "awaitContent" | "awaitNetwork" | "createPod" | "reportReadiness"
  | "moveToAnotherNode" | "changePort" | "removeObsoletePod"
  | "recordStopping" | "deletePod" | "awaitGameEnd" | "awaitSave" | "finish"
  | "releasePod" | "removeFinalizer" | "deleteExpired";

/** What to do, in order; a step that has to wait ends the pass. */
export interface Plan {
  steps: StepName[];
  /** Why the session ends, when it does. */
  ending?: Ending;
}

/** Decides, from what was observed and nothing else, which steps come next. */
export function planFor(world: SessionWorld): Plan {
  if (isFinished(world.session)) return { steps: ["releasePod", "removeFinalizer", "deleteExpired"] };
  const ending = endingOf(world);
  return ending === undefined ? { steps: runningSteps(world) } : endingPlan(world, ending);
}

function runningSteps(world: SessionWorld): StepName[] {
  if (world.session.status?.nodeName === undefined) return ["addFinalizer", "assignNode"];
  if (obsoletePod(world) !== undefined) return ["removeObsoletePod"];
  const refusal = refusalOf(world);
  if (refusal && hasAttemptLeft(world)) return [refusal.isPortConflict ? "changePort" : "moveToAnotherNode"];
  if (shouldMove(world)) return ["moveToAnotherNode"];
  // The save is restored by the pod itself, whose game waits for it.
  if (!isContentUnpacked(world) && currentPod(world) === undefined) return ["awaitContent"];
  if (internetObstacle(world) === "Awaited") return ["awaitNetwork"];
  return ["createPod", "reportReadiness"];
}

function shouldMove(world: SessionWorld): boolean {
  if (!hasAttemptLeft(world)) return false;
  // A pod that waits for its files has no game to lose, and is removed as the pod of a former place.
  if (!isPrepared(world.session) && hasContentFailed(world)) return true;
  return world.nodeHealth === "Lost" && world.pod === undefined;
}

function endingPlan(world: SessionWorld, ending: Ending): Plan {
  const { session } = world;
  const pod = currentPod(world);
  const nodeName = session.status?.nodeName;
  const isLost = world.nodeHealth === "Lost" && nodeName !== undefined;
  const mayHaveRun = mayHavePlayed(world);
  if (isLost && mayHaveRun && !isSavePersisted(session)) {
    // Nobody is left to end the game or to store its save: waiting would only hide the loss.
    const { failure } = nodeLost(nodeName);
    return { steps: ["finish"], ending: failure && ending.failure === undefined ? { ...ending, failure } : ending };
  }
  if (isLost || (pod === undefined && session.status?.podRef === undefined)) return { steps: ["finish"], ending };
  if (pod === undefined) return { steps: ["recordStopping", "awaitSave", "finish"], ending };
  return { steps: ["recordStopping", "deletePod", "awaitGameEnd", "awaitSave", "finish"], ending };
}

/** Whether the stop needs a note in the status before the first deletion; one that the spec asks for stands there already. */
export function needsStoppingNote({ session, pod }: SessionWorld): boolean {
  if (session.status?.stoppingAt !== undefined) return false;
  return session.spec.desiredState !== "Stopped" || pod === undefined;
}
