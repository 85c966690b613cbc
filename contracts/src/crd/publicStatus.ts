import type { GameSession } from "./gameSession.ts";
import type { ConditionStatus } from "./condition.ts";

/** The five words of the HTTP interface. */
export const publicStatuses = ["starting", "running", "stopping", "stopped", "error"] as const;
export type PublicStatus = (typeof publicStatuses)[number];

/** Status of the condition, or undefined when it was never set. */
export function conditionStatus(gameSession: GameSession, type: string): ConditionStatus | undefined {
  return gameSession.status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** What players are told of a session; `error` is a session that failed before it was ever ready. */
export function publicStatusOf(gameSession: GameSession): PublicStatus {
  const { status, spec, metadata } = gameSession;
  if (conditionStatus(gameSession, "Finished") === "True") {
    return status?.failure !== undefined && status.readyAt === undefined ? "error" : "stopped";
  }
  const isStopping = spec.desiredState === "Stopped" || metadata.deletionTimestamp !== undefined || status?.stoppingAt !== undefined;
  if (isStopping) return "stopping";
  return conditionStatus(gameSession, "Ready") === "True" ? "running" : "starting";
}
