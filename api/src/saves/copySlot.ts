import { limits } from "#contracts/limits.ts";
import { DomainError } from "../errors.ts";
import { importIntoNewSlot, type ImportDeps } from "./importedSave.ts";
import { readableVersion, type ReadableVersionDeps } from "./readableVersion.ts";
import type { SlotOf } from "./playerSlotQueries.ts";
import { SaveObjectStore } from "./saveObjectStore.ts";
import { currentVersion } from "./saveVersion.ts";
import type { AlsoWithin } from "./slotChange.ts";
import { emptySlotNumber, requireFree, requireListed } from "./slotErrors.ts";
import { findSlotHistory, type SlotHistory } from "./slotHistory.ts";

const suffix = " (copy)";

/**
 * Copies a slot's save into a slot of its own, and returns that. Throws not_found, slot_in_use,
 * no_empty_slot, conflict for a game that is gone, a slot without a save or too many saves of the player that
 * are read, unreadable_save and unavailable.
 */
export async function copySlot(
  deps: ImportDeps & ReadableVersionDeps,
  slotOf: SlotOf,
  alsoWithin?: AlsoWithin,
): Promise<SlotHistory> {
  const { game, slot, slots } = await findSlotHistory(deps, deps.postgres.pool, slotOf);
  requireListed(game);
  requireFree(slot);
  emptySlotNumber(slots);
  const current = currentVersion(slot);
  if (current === undefined)
    throw new DomainError("conflict", { message: "This save slot has no save yet." });
  const { objectKey, ...save } = await readableVersion(deps, slotOf.userId, slot, current.id);
  return importIntoNewSlot(
    deps,
    slotOf,
    labelOfCopy(slot.label),
    async (copyKey) => {
      await new SaveObjectStore(deps.objectStore).copy(objectKey, copyKey);
      return save;
    },
    alsoWithin,
  );
}

function labelOfCopy(label: string): string {
  const kept = Array.from(label)
    .slice(0, limits.save.labelMaxLength - suffix.length)
    .join("")
    .trimEnd();
  return kept.endsWith(suffix) ? kept : kept + suffix;
}
