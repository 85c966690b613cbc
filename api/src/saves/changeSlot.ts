import { readableVersion, type ReadableVersionDeps } from "./readableVersion.ts";
import { isCurrentVersion, versionOf } from "./saveVersion.ts";
import { insertSlotVersion } from "./saveVersionQueries.ts";
import { deleteSlotRow, updateSlotLabel, type SlotOf } from "./playerSlotQueries.ts";
import { requireListed } from "./slotErrors.ts";
import { withFreeSlot, type AlsoWithin, type SlotChangeDeps } from "./slotChange.ts";
import { findSlotHistory, type SlotHistory } from "./slotHistory.ts";

/** What restoring needs. */
export type RestoreDeps = SlotChangeDeps & ReadableVersionDeps;

/**
 * Makes an earlier version the slot's save again, as a version of its own that names the same object, and
 * returns the slot. The slot's own version changes nothing. All of any other is read before. Throws
 * not_found, slot_in_use, conflict for a game that is gone or too many saves of the player that are read,
 * unreadable_save and unavailable.
 */
export async function restoreSave(
  deps: RestoreDeps,
  slotOf: SlotOf,
  versionId: string,
  alsoWithin?: AlsoWithin,
): Promise<SlotHistory> {
  const { game, slot: before } = await findSlotHistory(deps, deps.postgres.pool, slotOf);
  requireListed(game);
  if (!isReadableCurrent(before, versionId)) await readableVersion(deps, slotOf.userId, before, versionId);
  return withFreeSlot(deps, slotOf, async (transaction, { slot }) => {
    // It may have been swept since.
    const version = versionOf(slot, versionId);
    // The slot may go on with this object already, by another version that was restored from this one.
    if (version.objectKey !== slot.objectKey)
      await insertSlotVersion(transaction, slot.id, { ...version, kind: "restored" });
    const { slot: after } = await findSlotHistory(deps, transaction, slotOf);
    await alsoWithin?.(after, transaction);
    return after;
  });
}

/** Whether the slot goes on with this version already, and nobody has found it unreadable. */
function isReadableCurrent(slot: SlotHistory, versionId: string): boolean {
  const version = versionOf(slot, versionId);
  return isCurrentVersion(slot, version) && version.unreadableAt === null;
}

/**
 * Renames a slot, back to its first name for an empty one, and returns the slot. It may be in use. Throws
 * not_found.
 */
export async function renameSlot(deps: SlotChangeDeps, slotOf: SlotOf, label: string): Promise<SlotHistory> {
  const { pool } = deps.postgres;
  const { slot } = await findSlotHistory(deps, pool, slotOf);
  await updateSlotLabel(pool, slot.id, label === "" ? null : label);
  return (await findSlotHistory(deps, pool, slotOf)).slot;
}

/** Removes a slot; its saves stay in the object store for the retention. Throws not_found and slot_in_use. */
export async function deleteSlot(deps: SlotChangeDeps, slotOf: SlotOf): Promise<SlotHistory> {
  return withFreeSlot(deps, slotOf, async (transaction, { slot }) => {
    await deleteSlotRow(transaction, slot.id);
    return slot;
  });
}
