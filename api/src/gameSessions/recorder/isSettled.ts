import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { UnrecordedGameSession } from "../gameSessionLifecycleQueries.ts";

/**
 * Returns whether row and object of a session that has not ended say the same, so that there is nothing to
 * record and nothing to ask for.
 */
export function isSettled(
  row: Pick<UnrecordedGameSession, "status" | "isCreated">,
  gameSession: GameSession,
): boolean {
  return row.isCreated && row.status === publicStatusOf(gameSession);
}
