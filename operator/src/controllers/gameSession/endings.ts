import { limits } from "#contracts/limits.ts";
import type { Condition } from "#contracts/crd/condition.ts";
import type { GameSessionStatus, StopReason } from "#contracts/crd/gameSession.ts";
import { isPrepared } from "#contracts/crd/sessionConditions.ts";
import type { Pod } from "#kube/builtin.ts";
import { findCondition } from "#kube/conditions.ts";
import type { Stored } from "#kube/object.ts";
import { deadlinesOf, isPast } from "./deadlines.ts";
import {
  gameAccount, gameTerminated, isEvicted, isPortConflict, isTerminal, rejection, streamerFault, unschedulable, waitingFor,
} from "../../sessionPods/podState.ts";
import { currentPod, internetObstacle, type SessionWorld } from "./world.ts";

export type Failure = NonNullable<GameSessionStatus["failure"]>;

/** Why a session ends; with a failure when that was nobody's wish. */
export interface Ending {
  stopReason: StopReason;
  failure?: Failure;
}

/** Why the session has to end, or undefined while it may go on. What was asked for or recorded before comes first. */
export function endingOf(world: SessionWorld): Ending | undefined {
  return recordedEnding(world) ?? requestedEnding(world) ?? networkEnding(world) ?? lostNodeEnding(world) ?? podEnding(world) ?? timedEnding(world);
}

/** Whether another try, on another node or port, is left. */
export function hasAttemptLeft({ session }: SessionWorld): boolean {
  return (session.status?.placement?.attempt ?? 1) < limits.gameSession.placementAttempts;
}

function recordedEnding({ session: { status } }: SessionWorld): Ending | undefined {
  if (status?.stoppingAt === undefined) return undefined;
  return { stopReason: status.stopReason ?? "Failed", ...(status.failure ? { failure: status.failure } : {}) };
}

function requestedEnding({ session: { spec, metadata } }: SessionWorld): Ending | undefined {
  if (spec.desiredState === "Stopped") return { stopReason: spec.stopReason ?? "UserRequested" };
  return metadata.deletionTimestamp === undefined ? undefined : { stopReason: "Deleted" };
}

/** Before anything is started: no place would do better. */
function networkEnding(world: SessionWorld): Ending | undefined {
  const obstacle = internetObstacle(world);
  if (obstacle === "NotAllowed") {
    return failed("NetworkNotAllowed", "The game needs the internet, which no game gets here: an admin has to allow it by the chart value games.network.");
  }
  if (obstacle !== "NotEnforced") return undefined;
  return failed("NetworkNotEnforced", "The game needs the internet, and the cluster was not found to enforce the NetworkPolicies that would keep it from everything else.");
}

/** A session without a pod yet can still be moved; see shouldMove in decide.ts. */
function lostNodeEnding(world: SessionWorld): Ending | undefined {
  if (world.nodeHealth !== "Lost" || world.session.status?.nodeName === undefined) return undefined;
  const canMove = world.pod === undefined && world.session.status.podRef === undefined && hasAttemptLeft(world);
  return canMove ? undefined : nodeLost(world.session.status.nodeName);
}

/** The end of a session whose node is away. */
export function nodeLost(nodeName: string): Ending {
  const message = `Node ${nodeName} has not been heard of: neither its kubelet nor its agent. The last stored save is kept.`;
  return { stopReason: "NodeLost", failure: { reason: "NodeLost", message } };
}

function podEnding(world: SessionWorld): Ending | undefined {
  const pod = currentPod(world);
  if (pod === undefined) return vanishedEnding(world);
  if (isEvicted(pod)) return failed("PodEvicted", `The cluster took the session's pod away: ${evictionMessage(pod)}`);
  const refused = rejection(pod);
  if (refused) return hasAttemptLeft(world) ? undefined : failed("PodRejected", `The node refused the pod: ${refused.reason} ${refused.message}`);
  if (gameTerminated(pod) !== undefined || isTerminal(pod)) return gameEnding(world, pod);
  return pod.metadata.deletionTimestamp === undefined ? undefined : failed("PodDeleted", "Somebody deleted the session's pod.");
}

function vanishedEnding({ session, pod }: SessionWorld): Ending | undefined {
  if (session.status?.podRef === undefined || pod !== undefined) return undefined;
  return failed("PodLost", "The session's pod is gone.");
}

function gameEnding({ session }: SessionWorld, pod: Stored<Pod>): Ending {
  const ended = gameTerminated(pod);
  const account = gameAccount(pod);
  const exitCode = ended?.exitCode ?? account?.exitCode ?? -1;
  if (ended?.reason === "OOMKilled" || account?.reason === "out-of-memory") {
    return failed("OutOfMemory", "The game used more memory than it may, and was killed.");
  }
  const fault = streamerFault(pod) ?? (account?.reason === "no-display" ? "no-display" : undefined);
  if (fault !== undefined) return failed("StreamerFailed", `The streamer failed: ${fault}.`);
  if (exitCode !== 0) {
    const how = account?.reason?.startsWith("signal-") === true ? `was ended by ${account.reason}` : `exited with code ${exitCode}`;
    return failed("GameCrashed", `The game ${how}.`);
  }
  if (session.status?.readyAt !== undefined) return { stopReason: "GameExited" };
  return { stopReason: "GameExited", failure: { reason: "GameEndedEarly", message: "The game ended before its stream was ready." } };
}

function timedEnding(world: SessionWorld): Ending | undefined {
  const { now } = world;
  const deadlines = deadlinesOf(world);
  if (isPast(deadlines.maxDuration, now)) return { stopReason: "MaxDuration" };
  if (isPast(deadlines.idle, now)) return { stopReason: "IdleTimeout" };
  if (!isPrepared(world.session) && hasContentFailed(world) && !hasAttemptLeft(world)) return contentFailed(world);
  if (isPast(deadlines.start, now)) return startTimedOut(world);
  return undefined;
}

/** What waiting does not cure: the archive or the save is bad, or the node is full. Another node may still do better. */
const hopelessReasons = new Set(["ArchiveRefused", "ArchiveIncomplete", "InsufficientSpace", "SaveRefused", "SaveMissing", "SaveVolumeFull"]);

/** Whether the node has had its time to make files and save ready, or has said that it never will. */
export function hasContentFailed(world: SessionWorld): boolean {
  return isPast(deadlinesOf(world).download, world.now) || hopelessReasons.has(unreadyContent(world)?.reason ?? "");
}

/** The end of a session whose files or save its node could not make ready. */
export function contentFailed(world: SessionWorld): Ending {
  const condition = unreadyContent(world);
  const nodeName = world.session.status?.nodeName ?? "";
  if (condition && hopelessReasons.has(condition.reason)) return failed(condition.reason, `Node ${nodeName} cannot make the game ready: ${condition.message}`);
  return failed("DownloadTimedOut", `Node ${nodeName} did not get the game's files in time: ${condition?.message ?? "no word from its agent"}`);
}

function unreadyContent({ session: { status } }: SessionWorld): Condition | undefined {
  return [findCondition(status?.conditions, "ContentReady"), findCondition(status?.conditions, "SaveRestored")]
    .find((condition) => condition !== undefined && condition.status !== "True");
}

function startTimedOut(world: SessionWorld): Ending {
  const { session } = world;
  if (session.status?.nodeName === undefined) {
    const why = findCondition(session.status?.conditions, "Scheduled")?.message ?? "no game node was chosen";
    return failed("NoCapacity", `No game node could take the session in time: ${why}`);
  }
  if (!isPrepared(session)) return contentFailed(world);
  const pod = currentPod(world);
  const why = pod === undefined ? "it could not be made." : waitingFor(pod);
  return failed("StartTimedOut", `The session's pod was not ready in time: ${why}`);
}

/** Why another place is needed for a pod that the scheduler or the kubelet refuses. */
export function refusalOf(world: SessionWorld): { message: string; isPortConflict: boolean } | undefined {
  const pod = currentPod(world);
  const refused = pod && rejection(pod);
  if (refused) return { message: `${refused.reason} ${refused.message}`.trim(), isPortConflict: isPortConflict(refused) };
  const stuck = pod && unschedulable(pod);
  if (!stuck) return undefined;
  if (isPortConflict(stuck)) return { message: stuck.message, isPortConflict: true };
  return isPast(deadlinesOf(world).unschedulable, world.now) ? { message: stuck.message, isPortConflict: false } : undefined;
}

/** An end by a fault; the message is cut to what the status takes. */
export function failed(reason: string, message: string): Ending {
  return { stopReason: "Failed", failure: { reason, message: message.slice(0, 1024) } };
}

function evictionMessage({ status }: Pod): string {
  const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return target?.message ?? status?.message ?? status?.reason ?? "no reason given";
}
