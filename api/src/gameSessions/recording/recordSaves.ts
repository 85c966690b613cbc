import { type StoredSave, type GameSession, isUnreadableSaveReason } from "#contracts/crd/gameSession.ts";
import { attemptOf, isEarlier, isSaveKeyOf } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { limits } from "#contracts/limits.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { recordSavePicture } from "../../saves/savePictures.ts";
import { openSave } from "../../saves/savedObject.ts";
import {
  lockSlot,
  isLateSaveUnrecorded,
  insertLateSave,
  hasRequestedVersion,
  insertRequestedVersion,
  updateObjectReadable,
  updateSaveSuspect,
} from "../../saves/saveVersionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { unavailable } from "../../errors.ts";
import { SaveObjectStore, newestSaveOf } from "../../saves/saveObjectStore.ts";
import { updateSlotSave, findLastKnownSave } from "./slotQueries.ts";
import type { RecordedGameSession } from "./lifecycleQueries.ts";
import type { Deps } from "../../deps.ts";

/** How long recording a session waits for the object store. */
const lookMs = 5_000;

/**
 * Keeps the save of a session that does not own its slot as a conflict copy. Idempotent while the session's
 * object exists.
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
  await recordSavePicture(deps, slotId, objectKey);
  metrics.saveConflictStored();
  logger.warn(
    { gameSession, slot: slotId, sequence },
    "The recorder kept a save as a conflict copy: its session no longer owns the slot.",
  );
}

/**
 * Returns whether the save is gone: the sweeper may remove versions before the session's object. If the
 * object store is unavailable, the save counts as stored, because none may be lost.
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
      "The recorder could not check a late save; it counts as stored.",
    );
    return false;
  }
}

/**
 * Keeps a requested save as a version, once per request, because later saves repeat the request's time. Only
 * a session that owns its slot adds versions to it.
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
      "The recorder kept a requested save.",
    );
}

/** Marks the last save of a killed game, and keeps the save from before its end. */
export async function recordSuspectSave(
  { postgres, logger }: { postgres: Postgres; logger: Logger },
  { id, slotId }: { id: string; slotId: string | null },
  { objectKey, sequence }: StoredSave,
): Promise<void> {
  if (slotId === null || !(await updateSaveSuspect(postgres.pool, slotId, id, objectKey))) return;
  logger.warn(
    { gameSession: id, slot: slotId, sequence },
    "The last save of a session may be incomplete, because its game was killed.",
  );
}

/** Records that the save to restore is missing or damaged, so the player is offered the previous version. */
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
 * Moves the slot to the session's newest save in the object store if it is newer than the reported one. A
 * save that is not a complete archive counts too.
 *
 * @throws DomainError `unavailable` if the object store or the save cannot be read.
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
      throw unavailable(`The save ${newest.key} cannot be read right now.`, cause);
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
  if (move !== "moved") return;
  await recordSavePicture({ logger, postgres, objectStore }, slotId, newest.key);
  logger.warn(
    { gameSession, slot: slotId, sequence, unpackedBytes },
    "The recorder adopted a stored save that nobody had reported.",
  );
}

/**
 * Returns the save that the node agent reports, if any. The key must belong to the session's slot, and the
 * request time must be in the session's spec. A compromised agent can thus neither give its player another
 * player's save, nor make the sweeper remove that save, nor displace older versions with requests that no
 * player made.
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
      "The recorder rejected a save whose key does not belong to its session's slot.",
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
 * Records a stored save, also of a running session, after the end, or when the slot belongs to another
 * session.
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
  if (move === "moved") {
    await recordSavePicture(deps, row.slotId, save.objectKey);
    logger.info(
      { gameSession: row.id, slot: row.slotId, sequence: save.sequence },
      "The recorder stored a save in its slot.",
    );
  }
  if (move === "not_owner") await recordLateSave(deps, row.slotId, row.id, save);
}
