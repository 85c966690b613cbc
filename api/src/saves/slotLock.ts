import { DomainError, notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { lockLaunches } from "./launchLock.ts";
import { findPlayerSlot, type PlayerSlot, type SavesGame, type SlotOf } from "./playerSlotQueries.ts";

/** A slot that nobody else can change or launch until the transaction ends. */
export interface LockedSlot {
  transaction: Queryable;
  slot: PlayerSlot;
  game: SavesGame;
}

/** Returns the error for a slot that is unknown, or somebody else's. */
export function noSuchSlot(): DomainError {
  return notFound("There is no such save slot.");
}

/** Returns the error for a change that a game which is gone does not allow any more. */
export function gameGone(): DomainError {
  return new DomainError("conflict", { message: "This game is not offered any more: its saves can be downloaded, but not played." });
}

/** Throws slot_in_use when a session owns the slot. */
export function requireFree({ ownerStatus }: Pick<PlayerSlot, "ownerStatus">): void {
  if (ownerStatus === null) return;
  const isPlayed = ownerStatus === "starting" || ownerStatus === "running";
  throw new DomainError("slot_in_use", {
    message: isPlayed ? "This save slot is being played: stop the game first." : "The last save of this slot is still being stored: try again in a moment.",
    ...!isPlayed && { retryAfterSeconds: 10 },
  });
}

/**
 * Runs `work` in a transaction that holds the player's slot, which no session owns, and returns its result. No launch decides meanwhile: one
 * that began before is seen here, one that comes after sees what changed. Throws not_found and slot_in_use.
 */
export async function withFreeSlot<T>(postgres: Postgres, slotOf: SlotOf, work: (locked: LockedSlot) => Promise<T>): Promise<T> {
  return postgres.transaction(async (transaction) => {
    await lockLaunches(transaction);
    const { rowCount } = await transaction.query({
      name: "lock-player-slot", text: "SELECT FROM save_slots WHERE id = $1 AND user_id = $2 FOR UPDATE", values: [slotOf.slotId, slotOf.userId],
    });
    if (rowCount !== 1) throw noSuchSlot();
    // Read after the lock was given: by then whoever held it has committed.
    const found = await findPlayerSlot(transaction, slotOf);
    if (found === undefined) throw noSuchSlot();
    requireFree(found.slot);
    return work({ transaction, ...found });
  });
}
