import type { GameSession } from "./gameSession.ts";
import { conditionStatus, isFinished } from "./sessionConditions.ts";

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
