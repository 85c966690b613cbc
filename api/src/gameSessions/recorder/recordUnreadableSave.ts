import { isUnreadableSaveReason, type GameSession } from "#contracts/crd/gameSession.ts";
import { findCondition } from "#kube/api/conditions.ts";
import type { Logger } from "#runtime/logger.ts";
import { updateObjectReadable } from "../../saves/saveVersionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";

/**
 * Notes that the save which a launch was to restore is missing or damaged, so that the player is offered the
 * version before it.
 */
export async function recordUnreadableSave(
  { postgres, logger }: { postgres: Postgres; logger: Logger },
  id: string,
  { spec, status }: GameSession,
): Promise<void> {
  const { slotId, objectKey } = spec.saveSlot;
  const condition = findCondition(status?.conditions, "SaveRestored");
  if (objectKey === undefined || condition?.status !== "False" || !isUnreadableSaveReason(condition.reason))
    return;
  const isNews = await updateObjectReadable(postgres.pool, { slotId, objectKey }, false);
  if (isNews)
    logger.error(
      { gameSession: id, slot: slotId, objectKey, reason: condition.reason },
      "A launch could not restore its save.",
    );
}
