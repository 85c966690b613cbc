import { isConflict, isNotFound } from "#kube/errors.ts";
import { isDeleting } from "#kube/finalizers.ts";
import { deadlinesOf, isPast, stoppingSinceOf } from "../deadlines.ts";
import { needsStoppingNote } from "../decide.ts";
import type { Ending } from "../endings.ts";
import { isGameOver } from "../../../sessionPods/podState.ts";
import { usageOf } from "../usage.ts";
import { currentPod, isSavePersisted, mayHavePlayed } from "../world.ts";
import type { Step, StepContext, StepOutcome } from "./step.ts";

/** Writes down why and when the end began before anything is deleted, so that a restart goes on with the same end. */
export const recordStopping: Step = (context) => {
  if (!context.ending || !needsStoppingNote(context.world)) return "done";
  noteStopping(context, context.ending);
  return "wait";
};

/** Puts the begin of an end into the status. */
export function noteStopping({ world, draft }: Pick<StepContext, "world" | "draft">, ending: Ending): void {
  const { status } = draft;
  status.stoppingAt ??= world.now.toISOString();
  status.stopReason ??= ending.stopReason;
  if (ending.failure) status.failure ??= ending.failure;
  const message = ending.failure?.message ?? "The session is being stopped.";
  draft.set("Ready", "False", "Stopping", message);
  draft.event(ending.failure ? "Warning" : "Normal", ending.failure?.reason ?? ending.stopReason, "Stop", message);
}

/** Asks the kubelet to end the pod: the game first, the streamer after it. */
export const deletePod: Step = async ({ world, draft, deps, ending, signal, logger }): Promise<StepOutcome> => {
  const pod = currentPod(world);
  if (!pod || isDeleting(pod)) return "done";
  try {
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal });
    logger.info({ node: pod.spec?.nodeName, stopReason: ending?.stopReason }, "The session's pod is being stopped.");
    draft.event("Normal", "Stopping", "Stop", `The game is asked to end: ${ending?.stopReason ?? ""}.`);
  } catch (error) {
    // Gone, or another pod of the name: the watch will show it.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return "done";
};

/** Waits for the game's end, so that its last account and its last save can be had. */
export const awaitGameEnd: Step = ({ world }) => {
  const pod = currentPod(world);
  return !pod || isGameOver(pod) || hasGivenUp(world) ? "done" : "wait";
};

/** Waits for the node agent to store the last save; a game that never ran has none. */
export const awaitSave: Step = ({ world, draft }) => {
  if (!mayHavePlayed(world) || isSavePersisted(world.session)) return "done";
  if (!hasGivenUp(world)) return "wait";
  const message = "The last save could not be stored in time. It is still on the node, and will be stored as soon as that is possible.";
  draft.status.failure ??= { reason: "SaveNotStored", message };
  draft.event("Warning", "SaveNotStored", "Stop", message);
  return "done";
};

/** Writes the whole result at once: nothing of the session is needed any more after it. */
export const finish: Step = ({ world, draft, deps, ending }) => {
  const { session, now } = world;
  const { status } = draft;
  const pod = currentPod(world);
  const usage = usageOf(session, { pod, node: deps.cluster.nodes.get(pod?.spec?.nodeName ?? "") }, now);
  status.stoppingAt ??= new Date(stoppingSinceOf(world) ?? now).toISOString();
  status.stopReason ??= ending?.stopReason ?? "Failed";
  status.finishedAt = now.toISOString();
  delete status.podIp; // another session's pod may get it
  if (ending?.failure) status.failure ??= ending.failure;
  if (usage) status.usage = usage;
  const reason = status.failure?.reason ?? status.stopReason;
  const message = status.failure?.message ?? "The session ended in good order.";
  for (const type of ["PodReady", "StreamReady", "Ready"] as const) draft.set(type, "False", "Finished", message);
  draft.set("Finished", "True", reason, message);
  draft.event(status.failure ? "Warning" : "Normal", "Finished", "Stop", status.failure ? `${reason}: ${message}` : `The session ended: ${reason}.`);
  deps.metrics.sessionFinished(reason);
  return "wait";
};

function hasGivenUp(world: StepContext["world"]): boolean {
  return isPast(deadlinesOf(world).saveGiveUp, world.now);
}
