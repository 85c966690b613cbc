import type { Pod } from "#kube/api/builtin.ts";
import { isConflict, isKubeError, isNotFound } from "#kube/api/errors.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import { deadlinesOf, isPast, stoppingSinceOf } from "../deadlines.ts";
import { needsStoppingNote } from "../decide.ts";
import { clusterLaunchStepOf } from "#contracts/crd/launchStep.ts";
import {
  failureReasons,
  gameSessionEventReasons,
  readyReasons,
  stopReasons,
  unsetReasons,
} from "#contracts/crd/reasons.ts";
import type { StopCause } from "../stopCauses.ts";
import { hasGameRun, isGameOver } from "../../../sessionPods/podState.ts";
import { usageOf } from "../usage.ts";
import { currentPod, isSavePersisted, mayHavePlayed } from "../world.ts";
import type { Step, StepContext, StepOutcome } from "./step.ts";

/**
 * Records why and when the stop began, before anything is deleted: an operator that takes over goes on with
 * the same stop. A stop that the spec records is noted once it takes long.
 */
export const recordStopping: Step = (context) => {
  if (!context.cause || !needsStoppingNote(context.world)) return "done";
  noteStopping(context, context.cause);
  return "wait";
};

/** Puts the begin of a stop into the status. */
export function noteStopping({ world, draft }: Pick<StepContext, "world" | "draft">, cause: StopCause): void {
  const { status } = draft;
  status.stoppingAt ??= stoppingTime(world);
  status.stopReason ??= cause.stopReason;
  if (cause.failure) status.failure ??= cause.failure;
  const message = cause.failure?.message ?? "The session is being stopped.";
  draft.set("Ready", "False", readyReasons.stopping, message);
  draft.event(
    cause.failure ? "Warning" : "Normal",
    cause.failure?.reason ?? cause.stopReason,
    "Stop",
    message,
  );
}

function stoppingTime(world: StepContext["world"]): string {
  return new Date(stoppingSinceOf(world) ?? world.now).toISOString();
}

/**
 * The grace of a pod whose game has not begun, so that nothing can be lost. The kernel drops a SIGTERM that
 * comes in the first instants of a container; its streamer then goes on until the kubelet loses patience.
 */
const startingGraceSeconds = 10;

/**
 * Returns how long the pod is given to end; undefined for the time that it was made with, as a game has that
 * has begun. The streamer tells of that first, and the kubelet may be late.
 */
export function graceSecondsOf(world: StepContext["world"], pod: Stored<Pod>): number | undefined {
  return mayHavePlayed(world) || hasGameRun(pod) ? undefined : startingGraceSeconds;
}

/**
 * Asks the kubelet to end the pod: the game first, the streamer after it. Where the API server does not take
 * that it is tried again, and the stop goes on meanwhile.
 */
export const deletePod: Step = async ({
  world,
  draft,
  deps,
  cause,
  signal,
  logger,
}): Promise<StepOutcome> => {
  const pod = currentPod(world);
  // Once the stop is given up nothing waits for the answer any more: the end of the session asks for the
  // deletion again.
  if (!pod || isDeleting(pod) || hasGivenUp(world)) return "done";
  try {
    const gracePeriodSeconds = graceSecondsOf(world, pod);
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal, gracePeriodSeconds });
    logger.info(
      { node: pod.spec?.nodeName, stopReason: cause?.stopReason },
      "The session's pod is being stopped.",
    );
    draft.event(
      "Normal",
      readyReasons.stopping,
      "Stop",
      `The game is asked to end: ${cause?.stopReason ?? ""}.`,
    );
  } catch (error) {
    // The pod is gone, or another one has its name: the watch will show it.
    if (isNotFound(error) || isConflict(error)) return "done";
    if (!isKubeError(error)) throw error;
    draft.failure = error;
  }
  return "done";
};

/**
 * Waits for the game's end, so that its termination report and its last save can be read; but not for long,
 * as the kubelet may be silent.
 */
export const awaitGameEnd: Step = ({ world }) => {
  const pod = currentPod(world);
  return !pod || isGameOver(pod) || hasGivenUp(world) ? "done" : "wait";
};

/** Waits for the node agent to store the last save; a game that never ran has none. */
export const awaitSave: Step = ({ world, draft }) => {
  if (!mayHavePlayed(world) || isSavePersisted(world.session)) return "done";
  if (!hasGivenUp(world)) return "wait";
  // The failure stays in the status when the save has been stored after all: its words are true then, too.
  const message =
    "The last save could not be stored in time. It is kept on the node, and stored as soon as that is possible: condition SavePersisted then says so.";
  draft.status.failure ??= { reason: failureReasons.saveNotStored, message };
  draft.event("Warning", failureReasons.saveNotStored, "Stop", message);
  return "done";
};

/** Writes the whole result at once: after it nothing of the session is needed any more. */
export const finish: Step = ({ world, draft, deps, cause }) => {
  const { session, now } = world;
  const { status } = draft;
  const pod = currentPod(world);
  const usage = usageOf(session, { pod, node: deps.cluster.nodes.get(pod?.spec?.nodeName ?? "") }, now);
  status.stoppingAt ??= stoppingTime(world);
  status.stopReason ??= cause?.stopReason ?? stopReasons.failed;
  status.finishedAt = now.toISOString();
  delete status.podIp; // Another session's pod may get this address.
  if (cause?.failure) status.failure ??= cause.failure;
  if (usage) status.usage = usage;
  const reason = status.failure?.reason ?? status.stopReason;
  const message = status.failure?.message ?? "The session ended in good order.";
  for (const type of ["PodReady", "StreamReady"] as const)
    draft.set(type, "False", unsetReasons.finished, message);
  draft.setFinished(reason, message);
  draft.event(
    status.failure ? "Warning" : "Normal",
    gameSessionEventReasons.finished,
    "Stop",
    status.failure ? `${reason}: ${message}` : `The session ended: ${reason}.`,
  );
  countEnd({ world, draft }, reason, status.failure !== undefined);
  return "wait";
};

function countEnd(
  { world, draft }: Pick<StepContext, "world" | "draft">,
  reason: string,
  hasFailed: boolean,
): void {
  draft.count((metrics) => metrics.sessionFinished(reason));
  const step = clusterLaunchStepOf(world.session, world.isContentCached);
  if (hasFailed && step !== undefined) draft.count((metrics) => metrics.launchFailed(step, reason));
}

function hasGivenUp(world: StepContext["world"]): boolean {
  return isPast(deadlinesOf(world).saveGiveUp, world);
}
