import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { lockLaunches } from "./launchLockQueries.ts";
import type { SavesGame, SlotOf, SlotsOf } from "./playerSlotQueries.ts";
import { lockSlot } from "./saveVersionQueries.ts";
import { noSuchSlot, requireFree, requireListed } from "./slotErrors.ts";
import { findGameSaves, findSlotHistory, type GameSaves, type SlotHistory, type SlotHistoryDeps } from "./slotHistory.ts";

/** What changing slots needs. */
export interface SlotChangeDeps extends SlotHistoryDeps {
  postgres: Postgres;
}

/** What happens with the slot as it is then, in the transaction that made it so. */
export type AlsoWithin = ((slot: SlotHistory, transaction: Queryable) => Promise<void>) | undefined;

/** A slot that nobody else can change, launch or sweep until the transaction ends. */
export interface HeldSlot {
  game: SavesGame;
  slot: SlotHistory;
}

/**
 * Runs `work` in a transaction that holds the player's slot, which no session owns, and returns its result. No launch decides meanwhile: one
 * that came before is seen here, one that comes after sees what changed. Throws not_found and slot_in_use.
 */
export async function withFreeSlot<T>(deps: SlotChangeDeps, slotOf: SlotOf, work: (transaction: Queryable, held: HeldSlot) => Promise<T>): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    if (await lockSlot(transaction, slotOf.slotId) === undefined) throw noSuchSlot();
    const held = await findSlotHistory(deps, transaction, slotOf);
    requireFree(held.slot);
    return work(transaction, held);
  }, lockLaunches);
}

/** Runs `work` in a transaction in which the player's slots of a listed game become no more and no fewer but by it. Throws not_found and conflict. */
export async function withGameSaves<T>(deps: SlotChangeDeps, slotsOf: SlotsOf, work: (transaction: Queryable, saves: GameSaves) => Promise<T>): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    const saves = await findGameSaves(deps, transaction, slotsOf);
    requireListed(saves.game);
    return work(transaction, saves);
  }, lockLaunches);
}
