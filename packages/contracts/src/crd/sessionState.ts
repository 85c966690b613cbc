import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import type { ConditionStatus } from "./kind.ts";

/** Returns the status of the condition, or undefined when it was never set. */
export function conditionStatus(
  { status }: GameSession,
  type: GameSessionConditionType,
): ConditionStatus | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Returns whether the session's end is complete, as the operator says. */
export function isFinished(gameSession: GameSession): boolean {
  return conditionStatus(gameSession, "Finished") === "True";
}

/**
 * Returns whether the session's game has been playable: its pod was ready, on the node and in the folder that
 * it had then.
 */
export function wasReady(gameSession: GameSession): boolean {
  return gameSession.status?.podRef !== undefined;
}

/**
 * Returns whether the session has ended and its last save may still lie on its node alone: its agent has not
 * said otherwise.
 */
export function isSavePending(gameSession: GameSession): boolean {
  const persisted = conditionStatus(gameSession, "SavePersisted");
  return (
    isFinished(gameSession) && (persisted === "False" || (persisted !== "True" && wasReady(gameSession)))
  );
}

/**
 * Returns whether the session's files and save are ready on its node, as the node agent says: its game may
 * start.
 */
export function isPrepared(gameSession: GameSession): boolean {
  return (
    conditionStatus(gameSession, "ContentReady") === "True" &&
    conditionStatus(gameSession, "SaveRestored") === "True"
  );
}

/** The five statuses of the HTTP interface, in order: a session never goes back to an earlier one. */
export const publicStatuses = ["starting", "running", "stopping", "stopped", "error"] as const;
export type PublicStatus = (typeof publicStatuses)[number];

/** Returns whether a session of that status starts or runs: its end has not begun. */
export function isOngoing(status: PublicStatus): boolean {
  return status === "starting" || status === "running";
}

/**
 * Returns whether a session of that status has ended for good: one that is stopping has not, and is not
 * ongoing any more either.
 */
export function hasEnded(status: PublicStatus): boolean {
  return status === "stopped" || status === "error";
}

/** Returns what players are told of a session; `error` is a session that failed before it was ever ready. */
export function publicStatusOf(gameSession: GameSession): PublicStatus {
  const { status, spec, metadata } = gameSession;
  if (isFinished(gameSession))
    return status?.failure !== undefined && status.readyAt === undefined ? "error" : "stopped";
  const isStopping =
    spec.desiredState === "Stopped" ||
    metadata.deletionTimestamp !== undefined ||
    status?.stoppingAt !== undefined;
  if (isStopping) return "stopping";
  return conditionStatus(gameSession, "Ready") === "True" ? "running" : "starting";
}
