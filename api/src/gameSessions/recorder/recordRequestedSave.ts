import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { attemptOf } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { hasRequestedVersion, insertRequestedVersion, lockSlot } from "../../saves/saveVersionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";

/**
 * Keeps a save that its player asked for as a version, once for each request: later saves repeat which
 * request was the last. Only a session that owns its slot adds to its versions.
 */
export async function recordRequestedSave(
  { postgres, logger }: { postgres: Postgres; logger: Logger },
  { id, slotId }: { id: string; slotId: string | null },
  save: StoredSave,
): Promise<void> {
  if (save.requestedAt === undefined || slotId === null) return;
  const { requestedAt } = save;
  if (await hasRequestedVersion(postgres.pool, slotId, id, requestedAt)) return;
  const isRecorded = await postgres.transaction(async (transaction) => {
    const slot = await lockSlot(transaction, slotId);
    if (slot?.owner !== id || (await hasRequestedVersion(transaction, slotId, id, requestedAt))) return false;
    await insertRequestedVersion(transaction, slotId, id, {
      ...save,
      requestedAt,
      attempt: attemptOf(save.objectKey),
    });
    return true;
  });
  if (isRecorded)
    logger.info(
      { gameSession: id, slot: slotId, sequence: save.sequence },
      "The recorder kept a save that its player asked for.",
    );
}
