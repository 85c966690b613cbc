import type { GameSession, GameSessionConditionType } from "./gameSession.ts";
import type { ConditionStatus } from "./kind.ts";

/** Returns the status of the condition; undefined if it was never set. */
export function conditionStatus(
  { status }: GameSession,
  type: GameSessionConditionType,
): ConditionStatus | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Returns whether the operator has completed the session's end. */
export function isFinished(gameSession: GameSession): boolean {
  return conditionStatus(gameSession, "Finished") === "True";
}

/** Returns whether the game has been playable: `podRef` is set once the pod is ready. */
export function wasReady(gameSession: GameSession): boolean {
  return gameSession.status?.podRef !== undefined;
}

/**
 * Returns whether the session has ended and its last save may still exist only on its node, because the node
 * agent has not reported otherwise.
 */
export function isSavePending(gameSession: GameSession): boolean {
  const persisted = conditionStatus(gameSession, "SavePersisted");
  return (
    isFinished(gameSession) && (persisted === "False" || (persisted !== "True" && wasReady(gameSession)))
  );
}

/**
 * Returns whether the node agent has reported the session's files and save as ready, so the game can start.
 */
export function isPrepared(gameSession: GameSession): boolean {
  return (
    conditionStatus(gameSession, "ContentReady") === "True" &&
    conditionStatus(gameSession, "SaveRestored") === "True"
  );
}

/** The five statuses of the HTTP interface. A session never returns to an earlier one. */
export const publicStatuses = ["starting", "running", "stopping", "stopped", "error"] as const;
export type PublicStatus = (typeof publicStatuses)[number];

/** Returns whether a session with this status is starting or running. */
export function isOngoing(status: PublicStatus): boolean {
  return status === "starting" || status === "running";
}

/**
 * Returns whether a session with this status has ended. A stopping session has neither ended nor is it
 * ongoing.
 */
export function hasEnded(status: PublicStatus): boolean {
  return status === "stopped" || status === "error";
}

/**
 * Returns the status that players see. `error` is a session that failed before it was ready for the first
 * time.
 */
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
