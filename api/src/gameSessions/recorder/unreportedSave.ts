import type { GameSession } from "#contracts/crd/gameSession.ts";
import { failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { conditionStatus } from "#contracts/crd/sessionState.ts";

/**
 * Returns whether a finished session may have a save that was not reported, because its agent has not said
 * what became of the last one. A session without any report may have one, too, unless it never got so far
 * that anybody could have played. `isSavePending` asks for the node's sake, and counts any session that had a
 * pod; this asks for the slot's, which a session that nobody played has not changed.
 */
export function isSaveUnreported(gameSession: GameSession): boolean {
  const saved = conditionStatus(gameSession, "SavePersisted") ?? "Unknown";
  return saved === "False" || (saved === "Unknown" && gameSession.status?.readyAt !== undefined);
}

/**
 * Whether such a save may still be reported, as far as the object says: a lost node may never return, and its
 * player must not wait for it.
 */
export function isSaveAwaited(gameSession: GameSession): boolean {
  return isSaveUnreported(gameSession) && gameSession.status?.failure?.reason !== failureReasons.nodeLost;
}
