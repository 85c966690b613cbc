import { isOngoing } from "#contracts/crd/publicStatus.ts";
import { DomainError, notFound } from "../errors.ts";
import { lowestEmptyNumber } from "./emptySlot.ts";
import type { PlayerSlot, SavesGame } from "./playerSlotQueries.ts";

/** Returns the error for a slot that is unknown, or somebody else's. */
export function noSuchSlot(): DomainError {
  return notFound("There is no such save slot.");
}

/** Throws conflict for a game that is gone: its saves can be taken away, and nothing else makes sense. */
export function requireListed({ isListed }: SavesGame): void {
  if (!isListed)
    throw new DomainError("conflict", {
      message: "This game is not offered any more: its saves can be downloaded or deleted, but not played.",
    });
}

/** Throws slot_in_use when a session owns the slot. */
export function requireFree({ ownerStatus }: PlayerSlot): void {
  if (ownerStatus === null) return;
  if (isOngoing(ownerStatus)) {
    throw new DomainError("slot_in_use", { message: "This save slot is being played: stop the game first." });
  }
  throw new DomainError("slot_in_use", {
    message: "The last save of this slot is still being stored: try again in a moment.",
    retryAfterSeconds: 10,
  });
}

/**
 * Returns the error for a slot that is still held after some tries, as by the sweeper while the object store
 * takes its time.
 */
export function slotBusy(cause: unknown): DomainError {
  return new DomainError("slot_in_use", {
    message: "Old saves of this slot are just being removed: try again in a moment.",
    retryAfterSeconds: 5,
    cause,
  });
}

/** Returns the lowest number that no slot has. Throws no_empty_slot. */
export function emptySlotNumber(slots: readonly PlayerSlot[]): number {
  const number = lowestEmptyNumber(slots);
  if (number !== undefined) return number;
  throw new DomainError("no_empty_slot", {
    message: "All save slots of this game are in use: delete one first.",
  });
}
