import { type StoredSave, type GameSession, isUnreadableSaveReason } from "#contracts/crd/gameSession.ts";
import { attemptOf, isEarlier, isSaveKeyOf } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { limits } from "#contracts/limits.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { openSave } from "../../saves/savedObject.ts";
import {
  lockSlot,
  isLateSaveUnrecorded,
  insertLateSave,
  hasRequestedVersion,
  insertRequestedVersion,
  updateObjectReadable,
} from "../../saves/saveVersionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { unavailable } from "../../errors.ts";
import { SaveObjectStore, newestSaveOf } from "../../saves/saveObjectStore.ts";
import { updateSlotSave, findLastKnownSave } from "./slotQueries.ts";
import type { RecordedGameSession } from "./lifecycleQueries.ts";
import type { Deps } from "../../deps.ts";

/** No longer than this does a session's record wait for the object store. */
const lookMs = 5_000;

/**
 * Keeps a save of a session that does not own its slot as a conflict copy. May be repeated, for as long as
 * the session's object is there.
 */
async function recordLateSave(
  deps: Pick<Deps, "logger" | "metrics" | "postgres" | "objectStore">,
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
async function isRemoved(
  { objectStore, logger }: Pick<Deps, "logger" | "metrics" | "postgres" | "objectStore">,
  save: StoredSave,
): Promise<boolean> {
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

/**
 * Moves the slot to the newest save that the object store has of the session, when that is newer than what
 * was reported. Throws unavailable when the object store cannot be asked, or that save cannot be read. One
 * that was read and is no whole archive counts, too.
 */
export async function adoptNewestSave(
  { logger, postgres, objectStore }: Pick<Deps, "logger" | "postgres" | "objectStore">,
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

/**
 * Returns the save that the node's agent reports; undefined without one. The report is believed only for a
 * key of the session's slot, and for a request that the session's spec has. So an agent that was taken over
 * can neither hand its player another player's save, nor make the sweeper remove that, nor crowd out older
 * versions by requests that no player made.
 */
export function credibleSave(
  { logger, metrics }: Pick<Deps, "logger" | "metrics" | "postgres" | "objectStore">,
  row: RecordedGameSession,
  { spec, status }: GameSession,
): StoredSave | undefined {
  if (status?.save === undefined || row.slotId === null) return undefined;
  const { requestedAt, ...save } = status.save;
  if (!isSaveKeyOf(row.slotId, save.objectKey)) {
    metrics.saveRefused();
    logger.warn(
      { gameSession: row.id, slot: row.slotId, objectKey: save.objectKey, node: status.nodeName },
      "The recorder refuses a save whose key is not one of its session's slot.",
    );
    return undefined;
  }
  const isRequested =
    requestedAt !== undefined &&
    spec.saveRequestedAt !== undefined &&
    Date.parse(requestedAt) <= Date.parse(spec.saveRequestedAt);
  return isRequested ? { ...save, requestedAt } : save;
}

/**
 * Every stored save counts, also one of a session that is still played, and one that comes after the end or
 * when the slot is another's.
 */
export async function recordSave(
  deps: Pick<Deps, "logger" | "metrics" | "postgres" | "objectStore">,
  row: RecordedGameSession,
  save: StoredSave,
): Promise<void> {
  if (row.slotId === null) return;
  const { postgres, logger } = deps;
  const move =
    row.slotReleasedAt === null ? await updateSlotSave(postgres.pool, row.slotId, row.id, save) : "not_owner";
  if (move === "moved")
    logger.info(
      { gameSession: row.id, slot: row.slotId, sequence: save.sequence },
      "The recorder stored a save in its slot.",
    );
  if (move === "not_owner") await recordLateSave(deps, row.slotId, row.id, save);
}
