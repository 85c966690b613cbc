import type { GameSession, SessionUsage, StreamSummary } from "#contracts/crd/gameSession.ts";
import { memoryLimitOf } from "#contracts/crd/gameSessionSpec.ts";
import { measuredLaunchStepOf } from "#contracts/crd/launchStep.ts";
import { finalizers } from "#contracts/crd/names.ts";
import {
  failureReasons,
  gameSessionEventReasons,
  readyReasons,
  stopReasons,
  unsetReasons,
} from "#contracts/crd/gameSessionReasons.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import { ignoreDeleted, isConflict, isKubeError, isNotFound } from "#kube/api/errors.ts";
import { isOwnedBy, type Stored } from "#kube/api/object.ts";
import { parseQuantity } from "#kube/api/quantity.ts";
import { hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import {
  gameEndOf,
  gameExitOf,
  gameTerminated,
  gameTerminationReport,
  hasGameRun,
  isGameOver,
  isGameReportPending,
  streamMeasurementOf,
} from "../../../sessionPods/podState.ts";
import { deadlinesOf, isPast, stoppingSinceOf } from "../deadlines.ts";
import { needsStoppingNote } from "../decide.ts";
import { launcherExited, type StopCause } from "../stopCauses.ts";
import { currentPod, isSavePersisted, mayHavePlayed } from "../world.ts";
import type { StepOutcome } from "#kube/controllers/reconciler.ts";
import type { Step, StepContext } from "./step.ts";

/**
 * Records why and when the stop began before anything is deleted, so that an operator that takes over
 * continues the same stop. A stop recorded in the spec is written to the status only once it takes long.
 */
export const recordStopping: Step = (context) => {
  if (!context.cause || !needsStoppingNote(context.world)) return "done";
  noteStopping(context, context.cause);
  return "wait";
};

/** Writes the start of a stop to the status. */
export function noteStopping({ world, draft }: Pick<StepContext, "world" | "draft">, cause: StopCause): void {
  const { status } = draft;
  status.stoppingAt ??= stoppingTime(world);
  status.stopReason ??= cause.stopReason;
  if (cause.failure) status.failure ??= cause.failure;
  const message = cause.failure?.message ?? "The session is stopping.";
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
 * Grace period of a pod whose game has not started, so nothing can be lost. The kernel drops a SIGTERM that
 * arrives in the first moments of a container, and its streamer then runs until the kubelet kills it.
 */
const startingGraceSeconds = 10;

/**
 * Returns the grace period for ending the pod. Undefined means the pod's own grace period, used once its game
 * has started. The streamer reports the start first; the kubelet may be late.
 */
export function graceSecondsOf(world: StepContext["world"], pod: Stored<Pod>): number | undefined {
  return mayHavePlayed(world) || hasGameRun(pod) ? undefined : startingGraceSeconds;
}

/**
 * Deletes the pod: the kubelet ends the game first, then the streamer. If the API server rejects the
 * deletion, it is retried while the stop continues.
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
  // Once the stop is given up, nothing waits for the response. The deletion is requested again when the
  // session finishes.
  if (!pod || isDeleting(pod) || hasGivenUp(world)) return "done";
  try {
    const gracePeriodSeconds = graceSecondsOf(world, pod);
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal, gracePeriodSeconds });
    logger.info(
      { node: pod.spec?.nodeName, stopReason: cause?.stopReason },
      "The session's pod is stopping.",
    );
    draft.event(
      "Normal",
      readyReasons.stopping,
      "Stop",
      `The game was asked to end: ${cause?.stopReason ?? ""}.`,
    );
  } catch (error) {
    // The pod is gone, or another pod has its name. The watch will show it.
    if (isNotFound(error) || isConflict(error)) return "done";
    if (!isKubeError(error)) throw error;
    draft.failure = error;
  }
  return "done";
};

/**
 * Waits for the game to end, because its termination report and last save are read afterwards. Gives up after
 * a deadline, because the kubelet may be silent.
 */
export const awaitGameEnd: Step = ({ world }) => {
  const pod = currentPod(world);
  return !pod || isGameOver(pod) || hasGivenUp(world) ? "done" : "wait";
};

/**
 * Waits for the node agent to store the last save, and for the game's report, which may arrive later. A game
 * that never ran has no save.
 */
export const awaitSave: Step = ({ world, draft }) => {
  if (!mayHavePlayed(world)) return "done";
  if (isSavePersisted(world.session)) {
    const pod = currentPod(world);
    const isPending = pod !== undefined && isGameReportPending(pod);
    return isPending && !isPast(deadlinesOf(world).reportGiveUp, world) ? "wait" : "done";
  }
  if (!hasGivenUp(world)) return "wait";
  // The failure stays in the status even if the save is stored later, because its message remains true.
  const message =
    "The last save could not be stored in time. It is kept on the node and stored as soon as possible. Condition SavePersisted reports when it is.";
  draft.status.failure ??= { reason: failureReasons.saveNotStored, message };
  draft.event("Warning", failureReasons.saveNotStored, "Stop", message);
  return "done";
};

/** Writes the whole result at once. Nothing of the session is needed after that. */
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
  noteGameEnd(draft, pod);
  noteExit(status, pod);
  const streamSummary = streamSummaryOf(session, pod, now);
  if (streamSummary) status.streamSummary = streamSummary;
  const reason = status.failure?.reason ?? status.stopReason;
  const message = status.failure?.message ?? "The session ended normally.";
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

/** Records how a game ended that was not asked to, if that is known. */
function noteExit(status: StepContext["draft"]["status"], pod: Pod | undefined): void {
  const exit = pod && gameExitOf(pod);
  if (exit && (status.failure || status.stopReason === stopReasons.gameExited)) status.exit = exit;
}

/**
 * Returns how the session was streamed, from its streamer's report. The streamer's clock is its node's, and
 * its container is next to the game's, so times are limited to the session's.
 */
export function streamSummaryOf(
  { status }: GameSession,
  pod: Pod | undefined,
  endedAt: Date,
): StreamSummary | undefined {
  const measured = pod && streamMeasurementOf(pod);
  if (measured === undefined) return undefined;
  const { firstPictureAt, viewedSeconds, ...stream } = measured;
  const startedMs = Date.parse(status?.startedAt ?? "");
  const sessionSeconds = Math.max(0, endedAt.getTime() - startedMs) / 1_000;
  if (Number.isNaN(sessionSeconds)) return undefined;
  const within = (seconds: number): number => Math.min(sessionSeconds, Math.max(0, seconds));
  return {
    ...(firstPictureAt !== null && {
      firstPictureSeconds: within((Date.parse(firstPictureAt) - startedMs) / 1_000),
    }),
    viewedSeconds: within(viewedSeconds),
    ...stream,
  };
}

const folderPaths = { Home: "HOME", Tmp: "/tmp", Shm: "/dev/shm" } as const;

/** Writes how the game ended, and what its partner and the admin should know about it. */
function noteGameEnd(draft: StepContext["draft"], pod: Stored<Pod> | undefined): void {
  const { status } = draft;
  const end = pod && gameEndOf(pod);
  if (end === undefined) return;
  status.gameEnd = end;
  draft.count((metrics) => metrics.gameEnded(end.endedBy));
  // The report may arrive after the stop was recorded.
  if (end.hasOutlivedLauncher === true) status.failure ??= launcherExited().failure;
  if (end.endedBy === "Sigkill")
    draft.event(
      "Warning",
      gameSessionEventReasons.gameKilled,
      "Stop",
      "The game was killed, because it did not end in time or exceeded its memory. Its last save may be incomplete.",
    );
  for (const folder of end.fullFolders ?? []) {
    draft.count((metrics) => metrics.folderFull(folder));
    draft.event(
      "Warning",
      gameSessionEventReasons.folderFull,
      "Stop",
      `${folderPaths[folder]} of the game was full during the session.`,
    );
  }
}

function countEnd(
  { world, draft }: Pick<StepContext, "world" | "draft">,
  reason: string,
  hasFailed: boolean,
): void {
  if (world.session.spec.purpose === "Verification") return; // It says nothing about what players meet.
  draft.count((metrics) => metrics.sessionFinished(reason));
  const step = measuredLaunchStepOf(world.session, world.isContentCached);
  if (hasFailed && step !== undefined) draft.count((metrics) => metrics.launchFailed(step, reason));
}

function hasGivenUp(world: StepContext["world"]): boolean {
  return isPast(deadlinesOf(world).saveGiveUp, world);
}

/** The kubelet truncates its times to whole seconds. */
const clockGrainMs = 1_000;
/** CPU count assumed for a node that is gone: the most a session can request. */
const maxProcessors = 64;

/** The place where a session ran. */
interface UsagePlace {
  pod: Stored<Pod> | undefined;
  /** The pod's node, as long as the cluster has it. */
  node: Node | undefined;
}

/**
 * Returns the session's usage from its containers' termination reports. Undefined without one, as on a lost
 * node. Processes of the game can write the game's report, so each value is limited to what its container
 * could have used.
 */
export function usageOf(
  { spec, status }: GameSession,
  { pod, node }: UsagePlace,
  endedAt: Date,
): SessionUsage | undefined {
  const report = pod && gameTerminationReport(pod);
  if (!pod || !report) return status?.usage;
  const ended = gameTerminated(pod);
  const end = ended?.finishedAt ?? endedAt.toISOString();
  const wallMs =
    Date.parse(end) - Date.parse(ended?.startedAt ?? pod.metadata.creationTimestamp) + clockGrainMs;
  return {
    durationSeconds: Math.round(playedMs(status, end, ended) / 100) / 10,
    cpuSeconds: Math.min(report.cpuSeconds, Math.max(0, (wallMs / 1_000) * processorsOf(pod, node))),
    peakMemoryBytes: Math.min(report.peakMemoryBytes, memoryLimitOf(spec.resources) + spec.saveVolumeBytes),
  };
}

/**
 * Returns how long the session was playable. Its start is a time of the operator's clock and its end one of
 * the node's, which may be minutes apart. Intervals on a single clock are reliable: the game's container
 * started before the session was ready, and no earlier than its launch.
 */
function playedMs(
  status: GameSession["status"],
  end: string,
  ended: ReturnType<typeof gameTerminated>,
): number {
  if (status?.readyAt === undefined) return 0;
  const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);
  const playedMs = between(status.readyAt, end);
  // The API server has null for a time that the kubelet did not set.
  const ranMs = Math.max(0, between(ended?.startedAt ?? "", ended?.finishedAt ?? "")) + clockGrainMs;
  const launchMs = between(status.startedAt ?? "", status.readyAt);
  if (Number.isNaN(ranMs) || Number.isNaN(launchMs)) return Math.max(0, playedMs);
  const leastMs = Math.max(0, ranMs - 2 * clockGrainMs - launchMs);
  return Math.min(ranMs, Math.max(leastMs, playedMs));
}

/** Returns the maximum CPUs that the game's container can have used: its limit, or all CPUs of the node. */
function processorsOf({ spec }: Pod, node: Node | undefined): number {
  const limit = spec?.containers.find(({ name }) => name === containerNames.game)?.resources?.limits?.cpu;
  return parseQuantity(limit) ?? parseQuantity(node?.status?.capacity?.cpu) ?? maxProcessors;
}

/**
 * Deletes the finished session's pod and removes its finalizer, but never forces the deletion. On an
 * unreachable node the object keeps its slot and port until the kubelet returns or the cluster removes the
 * node.
 */
export const releasePod: Step = async ({ world: { pod, session }, deps, signal }): Promise<StepOutcome> => {
  if (!pod || !isOwnedBy(pod, session.metadata.uid)) return "done";
  if (!isDeleting(pod))
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal }).catch(ignoreDeleted);
  if (hasFinalizer(pod, finalizers.usage))
    await removeFinalizer(deps.pods, pod, finalizers.usage, { signal });
  return "done";
};

/** Removes the operator's finalizer from a deleted session. */
export const releaseSession: Step = async ({ world: { session }, deps, signal }): Promise<StepOutcome> => {
  if (!isDeleting(session) || !hasFinalizer(session, finalizers.operator)) return "done";
  await removeFinalizer(deps.sessions, session, finalizers.operator, { signal });
  return "wait";
};

/**
 * Deletes the finished session when its time to live is over. The API's finalizer keeps it until it is
 * recorded.
 */
export const deleteExpired: Step = async ({ world, deps, signal, logger }): Promise<StepOutcome> => {
  const { session } = world;
  if (isDeleting(session) || !isPast(deadlinesOf(world).expiry, world)) return "wait";
  await deps.sessions.delete(session.metadata, { uid: session.metadata.uid, signal }).catch(ignoreDeleted);
  logger.info({}, "Deleted a finished session.");
  return "wait";
};
