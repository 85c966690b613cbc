import { failureReasons, stopReasons } from "#contracts/crd/reasons.ts";
import type { GameSession, StopReason } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/sessionConditions.ts";

/** Returns why a session is stopping, by its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return stopReasons.deleted;
  return status?.failure === undefined ? stopReasons.userRequested : stopReasons.failed;
}

/**
 * Returns whether a finished session may have a save that was not reported, because its agent has not said what became of the last one. A session
 * without any report may have one, too, unless it never got so far that anybody could have played.
 */
export function isSaveUnreported(gameSession: GameSession): boolean {
  const saved = conditionStatus(gameSession, "SavePersisted") ?? "Unknown";
  return saved === "False" || (saved === "Unknown" && gameSession.status?.readyAt !== undefined);
}

/** Whether such a save may still be reported, as far as the object says: a lost node may never return, and its player must not wait for it. */
export function isSaveAwaited(gameSession: GameSession): boolean {
  return isSaveUnreported(gameSession) && gameSession.status?.failure?.reason !== failureReasons.nodeLost;
}
