import { limits } from "#contracts/limits.ts";
import type { Condition } from "#contracts/crd/kind.ts";
import { type FailureReason, isTerminalReason, type TerminalReason } from "#contracts/crd/gameSession.ts";
import type { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import {
  failureReasons,
  restoreReasons,
  scheduledReasons,
  stopReasons,
} from "#contracts/crd/gameSessionReasons.ts";
import { isPrepared } from "#contracts/crd/sessionState.ts";
import type { GameTermination } from "#contracts/termination.ts";
import { type Pod, isTerminal } from "#kube/api/builtin.ts";
import { findCondition } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import { deadlinesOf, isPast } from "./deadlines.ts";
import {
  gameExitOf,
  gameTerminationReport,
  gameTerminated,
  isEvicted,
  isPortConflict,
  isStreamerRunning,
  rejection,
  streamerFault,
  unschedulable,
  waitingFor,
} from "../../sessionPods/podState.ts";
import {
  currentPod,
  internetObstacle,
  isContentUnpacked,
  isNodeBehind,
  mayHavePlayed,
  podErrorOf,
  type SessionWorld,
} from "./world.ts";

/** The cause of a stop, with a failure if nobody requested the stop. */
export interface StopCause {
  stopReason: StopReason;
  failure?: { reason: FailureReason; message: string };
}

/**
 * Returns why the session has to stop. Undefined if it may continue. A recorded or requested cause takes
 * precedence.
 */
export function stopCauseOf(world: SessionWorld): StopCause | undefined {
  return (
    recordedCause(world) ??
    requestedCause(world) ??
    networkCause(world) ??
    lostNodeCause(world) ??
    podCause(world) ??
    deadlineCause(world)
  );
}

/**
 * Returns whether the session may be retried on another node. False once its game has run, whatever the
 * kubelet reports about the pod: its last save is on that node and would arrive too late for a game that
 * starts elsewhere.
 */
export function hasAttemptLeft(world: SessionWorld): boolean {
  return (
    !mayHavePlayed(world) &&
    (world.session.status?.placement?.attempt ?? 1) < limits.gameSession.placementAttempts
  );
}

/**
 * Returns whether a session whose pod was refused may get another one: on other ports until its start
 * deadline, and on another node while it has an attempt left.
 */
export function canHaveAnotherPod(
  world: SessionWorld,
  { isPortConflict }: { isPortConflict: boolean },
): boolean {
  return isPortConflict ? !mayHavePlayed(world) : hasAttemptLeft(world);
}

function recordedCause({ session: { status } }: SessionWorld): StopCause | undefined {
  if (status?.stoppingAt === undefined) return undefined;
  // A related failure is already in the status.
  return { stopReason: status.stopReason ?? stopReasons.failed };
}

function requestedCause({ session: { spec, metadata } }: SessionWorld): StopCause | undefined {
  if (spec.desiredState === "Stopped") return { stopReason: spec.stopReason ?? stopReasons.userRequested };
  return metadata.deletionTimestamp === undefined ? undefined : { stopReason: stopReasons.deleted };
}

/** Applies before anything is started, because another node would not help. */
function networkCause(world: SessionWorld): StopCause | undefined {
  const obstacle = internetObstacle(world);
  if (obstacle === "NotAllowed") {
    return failed(
      failureReasons.networkNotAllowed,
      "The game needs internet access, which this installation does not allow. An admin can allow it with the chart value games.network.",
    );
  }
  return obstacle === "NotEnforced" ? networkNotEnforced() : undefined;
}

function networkNotEnforced(): StopCause {
  return failed(
    failureReasons.networkNotEnforced,
    "The game needs internet access, but the cluster does not seem to enforce NetworkPolicies, which would keep the game from the rest of the network.",
  );
}

/** A session without a pod can still be moved: see shouldMove in decide.ts. */
function lostNodeCause(world: SessionWorld): StopCause | undefined {
  if (world.nodeHealth !== "Lost" || world.session.status?.nodeName === undefined) return undefined;
  const canMove = world.pod === undefined && hasAttemptLeft(world);
  return canMove ? undefined : nodeLost(world.session.status.nodeName);
}

/** Returns the cause for a session whose node is lost. */
export function nodeLost(nodeName: string): StopCause {
  const message = `Node ${nodeName} is lost: neither its kubelet nor its node agent reports. The last stored save is kept.`;
  return { stopReason: stopReasons.nodeLost, failure: { reason: failureReasons.nodeLost, message } };
}

function podCause(world: SessionWorld): StopCause | undefined {
  const pod = currentPod(world);
  if (pod === undefined) return vanishedPodCause(world);
  if (isEvicted(pod))
    return failed(failureReasons.podEvicted, `The session's pod was evicted: ${evictionMessage(pod)}`);
  const refused = rejection(pod);
  if (refused) {
    const mayGoOn = canHaveAnotherPod(world, { isPortConflict: isPortConflict(refused) });
    return mayGoOn
      ? undefined
      : failed(failureReasons.podRejected, `The node refused the pod: ${refused.reason} ${refused.message}`);
  }
  if (gameTerminated(pod) !== undefined || isTerminal(pod)) return gameEndCause(world, pod);
  return pod.metadata.deletionTimestamp === undefined
    ? undefined
    : failed(failureReasons.podDeleted, "The session's pod was deleted by someone else.");
}

function vanishedPodCause({ session, pod }: SessionWorld): StopCause | undefined {
  if (session.status?.podRef === undefined || pod !== undefined) return undefined;
  return failed(failureReasons.podLost, "The session's pod no longer exists.");
}

function gameEndCause({ session }: SessionWorld, pod: Stored<Pod>): StopCause {
  const ended = gameTerminated(pod);
  const report = gameTerminationReport(pod);
  const exit = gameExitOf(pod);
  const exitCode = exit?.code ?? -1;
  if (ended?.reason === "OOMKilled" || isOutOfMemory(report, exitCode)) {
    return failed(failureReasons.outOfMemory, "The game exceeded its memory limit and was killed.");
  }
  const fault = streamerFault(pod) ?? (report?.reason === "no-display" ? "no-display" : undefined);
  if (fault !== undefined) return failed(failureReasons.streamerFailed, `The streamer failed: ${fault}.`);
  if (report?.hasOutlivedLauncher === true) return launcherExited();
  if (exitCode !== 0) {
    const signal = exit?.signal === undefined ? "" : ` (${exit.signal})`;
    return failed(failureReasons.gameCrashed, `The game exited with code ${exitCode}${signal}.`);
  }
  if (session.status?.readyAt !== undefined) return { stopReason: stopReasons.gameExited };
  return {
    stopReason: stopReasons.gameExited,
    failure: {
      reason: failureReasons.gameEndedEarly,
      message: "The game ended before its stream was ready.",
    },
  };
}

/** Returns the cause for a launcher that did not wait for its game. */
export function launcherExited(): StopCause {
  return failed(
    failureReasons.launcherExited,
    "The launcher exited while the game was still running, which ends the session. The launcher must start the game with exec, or wait for it.",
  );
}

/**
 * Returns whether the game ended because it ran out of memory. The kernel may kill one of its processes,
 * which makes the others fail in other ways.
 */
function isOutOfMemory(report: GameTermination | undefined, exitCode: number): boolean {
  return (
    report !== undefined && (report.reason === "out-of-memory" || (exitCode !== 0 && report.oomKills > 0))
  );
}

function deadlineCause(world: SessionWorld): StopCause | undefined {
  const deadlines = deadlinesOf(world);
  const { plannedEnd } = world.session.spec;
  if (plannedEnd !== undefined && isPast(deadlines.planned, world)) return { stopReason: plannedEnd.reason };
  if (isPast(deadlines.maxDuration, world)) return { stopReason: stopReasons.maxDuration };
  if (isPast(deadlines.idle, world)) return { stopReason: stopReasons.idleTimeout };
  if (world.isInputIdle && world.session.status?.readyAt !== undefined)
    return { stopReason: stopReasons.idleTimeout };
  if (
    !isPrepared(world.session) &&
    !mayHavePlayed(world) &&
    hasContentFailed(world) &&
    !hasAttemptLeft(world)
  )
    return contentFailed(world);
  if (isPast(deadlines.start, world)) return startTimedOut(world);
  return undefined;
}

/**
 * Returns whether the node has not prepared files and save in time, or reports a reason that waiting does not
 * fix. Another node may still succeed.
 */
export function hasContentFailed(world: SessionWorld): boolean {
  return isPast(deadlinesOf(world).download, world) || terminalReasonOf(unreadyContent(world)) !== undefined;
}

/** Returns the cause for a session whose node could not prepare its files or save. */
export function contentFailed(world: SessionWorld): StopCause {
  const condition = unreadyContent(world);
  const nodeName = world.session.status?.nodeName ?? "";
  const terminalReason = terminalReasonOf(condition);
  if (condition && terminalReason !== undefined)
    return failed(terminalReason, `Node ${nodeName} cannot prepare the game: ${condition.message}`);
  return failed(
    failureReasons.downloadTimedOut,
    `Node ${nodeName} did not download the game in time: ${condition?.message ?? "its agent has not reported"}`,
  );
}

/**
 * Returns the condition's reason if waiting cannot fix it. A damaged game archive may be uploaded again, but
 * a save is stored once, so a damaged save stays damaged.
 */
function terminalReasonOf(
  condition: Condition | undefined,
): TerminalReason | typeof restoreReasons.checksumMismatch | undefined {
  if (condition === undefined) return undefined;
  if (condition.type === "SaveRestored" && condition.reason === restoreReasons.checksumMismatch)
    return restoreReasons.checksumMismatch;
  return isTerminalReason(condition.reason) ? condition.reason : undefined;
}

function unreadyContent({ session: { status } }: SessionWorld): Condition | undefined {
  return [
    findCondition(status?.conditions, "ContentReady"),
    findCondition(status?.conditions, "SaveRestored"),
  ].find((condition) => condition !== undefined && condition.status !== "True");
}

function startTimedOut(world: SessionWorld): StopCause {
  const { session } = world;
  if (session.status?.nodeName === undefined) {
    const unplaced = findCondition(session.status?.conditions, "Scheduled");
    const why = unplaced?.message ?? "no game node was selected";
    const reason =
      unplaced?.reason === scheduledReasons.insufficientResources
        ? scheduledReasons.insufficientResources
        : scheduledReasons.noCapacity;
    return failed(reason, `No game node was available for the session in time: ${why}`);
  }
  const pod = currentPod(world);
  if (isContentUnpacked(world) && internetObstacle(world) === "Awaited") return networkNotEnforced();
  const podError =
    pod === undefined && isContentUnpacked(world) ? podErrorOf(session.status.conditions) : undefined;
  // The pod restores the save itself. It is not at fault if it does not exist or its streamer does not run.
  const isPodStuck = pod !== undefined && !isNodeBehind(world) && !isStreamerRunning(pod);
  if (!isPodStuck && podError === undefined && !isPrepared(session)) return contentFailed(world);
  const why = pod === undefined ? (podError ?? "it could not be made.") : waitingFor(pod);
  return failed(failureReasons.startTimedOut, `The session's pod was not ready in time: ${why}`);
}

/**
 * Returns why the scheduler or kubelet refuses the pod, which then needs another node or port. Undefined if
 * it does not.
 */
export function podRejection(world: SessionWorld): { message: string; isPortConflict: boolean } | undefined {
  const pod = currentPod(world);
  const refused = pod && rejection(pod);
  if (refused)
    return {
      message: `${refused.reason} ${refused.message}`.trim(),
      isPortConflict: isPortConflict(refused),
    };
  const stuck = pod && unschedulable(pod);
  if (!stuck) return undefined;
  if (isPortConflict(stuck)) return { message: stuck.message, isPortConflict: true };
  return isPast(deadlinesOf(world).unschedulable, world)
    ? { message: stuck.message, isPortConflict: false }
    : undefined;
}

/** Returns the cause for a failure. Its message is truncated to the length that the status allows. */
export function failed(reason: FailureReason, message: string): StopCause {
  return { stopReason: stopReasons.failed, failure: { reason, message: message.slice(0, 1024) } };
}

function evictionMessage({ status }: Pod): string {
  const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return target?.message ?? status?.message ?? status?.reason ?? "no reason given";
}
