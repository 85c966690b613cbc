import { randomUUID } from "node:crypto";
import { saveKey } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../errors.ts";
import { isTransactionConflict } from "../stores/databaseFailure.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Queryable } from "../stores/queryable.ts";
import {
  deleteNewSlotSweep,
  insertNewSlotSweep,
  insertSlot,
  type PlayerGameRef,
  type SlotRef,
} from "./playerSlotQueries.ts";
import { SaveObjectStore } from "./saveObjectStore.ts";
import { insertSavePicture } from "./savePictureQueries.ts";
import { SavePictureStore } from "./savePictures.ts";
import { insertSlotVersion, type NamedSave } from "./saveVersionQueries.ts";
import { withFreeSlot, withGameSaves, type InTransaction, type SlotChangeDeps } from "./changeSlot.ts";
import {
  emptySlotNumber,
  requireListed,
  findSlotHistory,
  type HistoryVersion,
  type SlotHistory,
  currentVersion,
  requireFree,
} from "./slotHistory.ts";
import { limits } from "#contracts/limits.ts";
import { requireReadableVersion, type ReadableVersionDeps } from "./readableVersion.ts";

/** Dependencies of importing a save into a slot. */
export interface ImportDeps extends SlotChangeDeps {
  logger: Logger;
  objectStore: ObjectStore;
}

/** Stores an object under the key and returns its digest and sizes. */
export type StoreSave = (objectKey: string) => Promise<StoredImport>;

/** An imported save, with what it brings along if it is a copy. */
export interface StoredImport extends Omit<NamedSave, "objectKey"> {
  /** Play time of the copied version, in seconds. */
  playSeconds?: number;
  /** Size of the picture that was copied too; null without one. */
  pictureBytes?: number | null;
}

/**
 * Imports the save that `store` stores into the lowest empty slot and returns the slot. A failure leaves
 * nothing behind.
 *
 * @throws no_empty_slot, not_found, conflict for an unavailable game, and what `store` throws
 */
export async function importIntoNewSlot(
  deps: ImportDeps,
  gameRef: PlayerGameRef,
  customLabel: string | null,
  store: StoreSave,
  inTransaction?: InTransaction,
): Promise<SlotHistory> {
  const { pool } = deps.postgres;
  const id = randomUUID();
  await insertNewSlotSweep(pool, id);
  return importSave(deps, newSaveKey(id, 1), store, (save) =>
    withGameSaves(deps, gameRef, async (transaction, { game, slots }) => {
      await insertSlot(transaction, {
        id,
        userId: gameRef.userId,
        gameId: game.id,
        number: emptySlotNumber(slots),
        customLabel,
        priorPlaySeconds: save.playSeconds ?? 0,
      });
      await deleteNewSlotSweep(transaction, id);
      await insertSlotVersion(transaction, id, { ...save, kind: "imported" });
      const { objectKey, pictureBytes: bytes = null } = save;
      if (bytes !== null) await insertSavePicture(transaction, { objectKey, slotId: id, bytes });
      return finishImport(deps, transaction, { ...gameRef, slotId: id }, inTransaction);
    }),
  );
}

/**
 * Imports the save that `store` stores into a slot without an owner and returns the slot.
 *
 * @throws slot_in_use, not_found, conflict for an unavailable game, and what `store` throws
 */
export async function importIntoSlot(
  deps: ImportDeps,
  gameRef: PlayerGameRef,
  before: SlotHistory,
  store: StoreSave,
  inTransaction?: InTransaction,
): Promise<SlotHistory> {
  const slotRef = { ...gameRef, slotId: before.id };
  return importSave(deps, newSaveKey(before.id, before.generation + 1), store, (save) =>
    withFreeSlot(deps, slotRef, async (transaction, { game }) => {
      requireListed(game);
      await insertSlotVersion(transaction, before.id, { ...save, kind: "imported" });
      return finishImport(deps, transaction, slotRef, inTransaction);
    }),
  );
}

async function importSave(
  deps: ImportDeps,
  objectKey: string,
  store: StoreSave,
  commit: (save: NamedSave & StoredImport) => Promise<SlotHistory>,
): Promise<SlotHistory> {
  const save = { ...(await store(objectKey)), objectKey };
  try {
    return await commit(save);
  } catch (error) {
    // After any other error it is unknown whether the slot has the save. A leftover is swept, or becomes a
    // conflict copy.
    if (!(error instanceof DomainError) && !isTransactionConflict(error)) throw error;
    await new SaveObjectStore(deps.objectStore).remove([objectKey]).catch((cause: unknown) => {
      deps.logger.warn(
        { err: cause, objectKey },
        "The API could not remove a refused save; the sweeper will.",
      );
    });
    throw error;
  }
}

async function finishImport(
  deps: ImportDeps,
  transaction: Queryable,
  slotRef: PlayerGameRef & { slotId: string },
  inTransaction: InTransaction,
): Promise<SlotHistory> {
  const { slot } = await findSlotHistory(deps, transaction, slotRef);
  await inTransaction?.(slot, transaction);
  return slot;
}

/** Returns a key that no session uses. */
function newSaveKey(slotId: string, generation: number): string {
  return saveKey(slotId, { generation, gameSession: `import-${randomUUID()}`, sequence: 1, attempt: 0 });
}

const suffix = " (copy)";

/**
 * Copies a version of a slot, the current one if `versionId` is undefined, to a new slot, and returns the new
 * slot.
 *
 * @throws not_found, slot_in_use, no_empty_slot, conflict for an unavailable game, a slot without a save or
 *   too many concurrent reads of the player, unreadable_save, unavailable
 */
export async function copySlot(
  deps: ImportDeps & ReadableVersionDeps,
  slotRef: SlotRef,
  versionId: string | undefined,
  inTransaction?: InTransaction,
): Promise<SlotHistory> {
  const { game, slot, slots } = await findSlotHistory(deps, deps.postgres.pool, slotRef);
  requireListed(game);
  requireFree(slot);
  emptySlotNumber(slots);
  const id = versionId ?? currentVersion(slot)?.id;
  if (id === undefined) throw new DomainError("conflict", { message: "This save slot has no save yet." });
  const version = await requireReadableVersion(deps, slotRef.userId, slot, id);
  return importIntoNewSlot(deps, slotRef, labelOfCopy(slot.label), copyOf(deps, version), inTransaction);
}

/** Returns a function that copies a version and its picture to a key. */
export function copyOf(
  { objectStore, logger }: Pick<ImportDeps, "objectStore" | "logger">,
  version: HistoryVersion,
): StoreSave {
  return async (copyKey) => {
    const { objectKey, sha256, bytes, unpackedBytes, playSeconds, pictureBytes } = version;
    await new SaveObjectStore(objectStore).copy(objectKey, copyKey);
    const hasPicture =
      pictureBytes !== null &&
      (await new SavePictureStore(objectStore).copy(objectKey, copyKey).then(
        () => true,
        (error: unknown) => {
          logger.warn({ err: error, objectKey }, "The picture of a save could not be copied.");
          return false;
        },
      ));
    return { sha256, bytes, unpackedBytes, playSeconds, pictureBytes: hasPicture ? pictureBytes : null };
  };
}

function labelOfCopy(label: string): string {
  const kept = Array.from(label)
    .slice(0, limits.save.labelMaxLength - suffix.length)
    .join("")
    .trimEnd();
  return kept.endsWith(suffix) ? kept : kept + suffix;
}
