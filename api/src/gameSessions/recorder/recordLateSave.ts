import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { attemptOf } from "#contracts/objectKeys.ts";
import { insertLateSave, isLateSaveUnrecorded } from "../../saves/saveVersionQueries.ts";
import { openSave } from "../../saves/savedObject.ts";
import type { RecorderDeps } from "./recorderDeps.ts";

/** No longer than this does a session's record wait for the object store. */
const lookMs = 5_000;

/**
 * Keeps a save of a session that does not own its slot as a conflict copy. May be repeated, for as long as
 * the session's object is there.
 */
export async function recordLateSave(
  deps: RecorderDeps,
  slotId: string,
  gameSession: string,
  save: StoredSave,
): Promise<void> {
  const { postgres, metrics, logger } = deps;
  const { objectKey, sha256, bytes, generation, sequence } = save;
  const late = {
    slotId,
    gameSession,
    objectKey,
    sha256,
    bytes,
    unpackedBytes: save.unpackedBytes ?? null,
    generation,
    sequence,
    attempt: attemptOf(objectKey),
  };
  if (!(await isLateSaveUnrecorded(postgres.pool, late)) || (await isRemoved(deps, save))) return;
  if (!(await insertLateSave(postgres.pool, late))) return;
  metrics.saveConflictStored();
  logger.warn(
    { gameSession, slot: slotId, sequence },
    "The recorder kept a save as a conflict copy: its session does not own the slot any longer.",
  );
}

/**
 * Whether the save is gone: an object may stay longer than the versions of its session, which the sweeper
 * removes with their records. Where the object store cannot be asked the save counts as there, for none may
 * be lost.
 */
async function isRemoved({ objectStore, logger }: RecorderDeps, save: StoredSave): Promise<boolean> {
  try {
    const stream = await openSave(
      { ...objectStore, timeoutMs: Math.min(objectStore.timeoutMs, lookMs) },
      save,
    );
    stream?.destroy();
    return stream === undefined;
  } catch (error) {
    logger.warn(
      { err: error, objectKey: save.objectKey },
      "The recorder could not look for a late save; it counts as stored.",
    );
    return false;
  }
}
