import type { ConditionStatus } from "./condition.ts";
import type { GameSession, GameSessionConditionType } from "./gameSession.ts";

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
