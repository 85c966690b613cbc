import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";
import { endQueued, findQueuedGameSession } from "./queueQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Ends the user's session if it waits in the queue, and returns whether it did. A seat held for it goes to
 * the next player.
 */
export async function leaveQueue(
  { postgres, logger, metrics }: Pick<Deps, "postgres" | "logger" | "metrics">,
  userId: string,
  id: string,
): Promise<boolean> {
  const ended = await postgres.transaction(async (transaction) => {
    const session = await findQueuedGameSession(transaction, id, userId);
    if (session?.isQueued !== true) return [];
    return endQueued(transaction, [id], { status: "stopped", stopReason: stopReasons.userRequested });
  }, lockLaunches);
  if (ended.length === 0) return false;
  metrics.queueLeft("left");
  logger.info({ gameSession: id }, "A player left the queue.");
  return true;
}
