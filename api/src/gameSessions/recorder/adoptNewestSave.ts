import { limits } from "#contracts/limits.ts";
import { isEarlier } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { unavailable } from "../../errors.ts";
import { newestSaveOf, SaveObjectStore } from "../../saves/saveObjectStore.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { updateSlotSave } from "../saveSlotQueries.ts";
import { findLastKnownSave } from "../slotReleaseQueries.ts";

/** What adopting a save needs. */
export interface AdoptSaveDeps {
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Moves the slot to the newest save that the object store has of the session, when that is newer than what
 * was reported. Throws unavailable when the object store cannot be asked, or that save cannot be read. One
 * that was read and is no whole archive counts, too.
 */
export async function adoptNewestSave(
  { logger, postgres, objectStore }: AdoptSaveDeps,
  slotId: string,
  gameSession: string,
): Promise<void> {
  const saveObjects = new SaveObjectStore(objectStore);
  const newest = newestSaveOf(await saveObjects.list(slotId), gameSession);
  const known = await findLastKnownSave(postgres.pool, slotId, gameSession);
  if (newest === undefined || !isEarlier(known, newest)) return;
  const { unpackedBytes, ...digest } = await saveObjects
    .inspect(newest.key, limits.save.packedBytes)
    .catch((cause: unknown) => {
      throw unavailable(`The save ${newest.key} cannot be read just now.`, cause);
    });
  const { generation, sequence, storedAt } = newest;
  const save = {
    objectKey: newest.key,
    ...digest,
    ...(unpackedBytes !== null && { unpackedBytes }),
    generation,
    sequence,
    persistedAt: storedAt.toISOString(),
    final: true,
  };
  const move = await updateSlotSave(postgres.pool, slotId, gameSession, save);
  if (move === "moved")
    logger.warn(
      { gameSession, slot: slotId, sequence, unpackedBytes },
      "The recorder adopted a stored save that nobody had reported.",
    );
}
