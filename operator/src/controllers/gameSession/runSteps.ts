import { deleteExpired, releasePod, releaseSession } from "./steps/cleanUp.ts";
import type { StepName } from "./decide.ts";
import {
  adoptPod,
  assignNode,
  changePort,
  holdSession,
  leaveForImage,
  moveToAnotherNode,
} from "./steps/place.ts";
import { awaitContent, awaitNetwork, createPod, removeObsoletePod, reportReadiness } from "./steps/start.ts";
import type { Step, StepContext } from "./steps/step.ts";
import { awaitGameEnd, awaitSave, deletePod, finish, recordStopping } from "./steps/stop.ts";

const steps: Record<StepName, Step> = {
  holdSession,
  assignNode,
  adoptPod,
  moveToAnotherNode,
  leaveForImage,
  changePort,
  awaitContent,
  awaitNetwork,
  createPod,
  reportReadiness,
  removeObsoletePod,
  recordStopping,
  deletePod,
  awaitGameEnd,
  awaitSave,
  finish,
  releasePod,
  releaseSession,
  deleteExpired,
};

/** Runs the steps in order until one has to wait. */
export async function runSteps(names: readonly StepName[], context: StepContext): Promise<void> {
  for (const name of names) {
    if ((await steps[name](context)) === "wait") return;
  }
}
