import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { isLockedByAnother } from "../stores/databaseUnavailable.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { lockLaunches } from "./launchLockQueries.ts";
import type { SavesGame, SlotOf, SlotsOf } from "./playerSlotQueries.ts";
import { lockSlot } from "./saveVersionQueries.ts";
import { noSuchSlot, requireFree, requireListed, slotBusy } from "./slotErrors.ts";
import {
  findGameSaves,
  findSlotHistory,
  type GameSaves,
  type SlotHistory,
  type SlotHistoryDeps,
} from "./slotHistory.ts";

/** What changing slots needs. */
export interface SlotChangeDeps extends SlotHistoryDeps {
  clock: Clock;
  postgres: Postgres;
}

/** What happens with the slot as it is then, in the transaction that made it so. */
export type AlsoWithin = ((slot: SlotHistory, transaction: Queryable) => Promise<void> | void) | undefined;

/** A slot that nobody else can change, launch or sweep until the transaction ends. */
export interface HeldSlot {
  game: SavesGame;
  slot: SlotHistory;
}

type SlotWork<T> = (transaction: Queryable, held: HeldSlot) => Promise<T>;

/**
 * Together some three seconds at most: longer than the sweeper holds a slot where the object store responds
 * as it should.
 */
const lockTriesMax = 6;
const lockBackOff = { baseMs: 100, maxMs: 2_000 };

/**
 * Runs `work` in a transaction that holds the player's slot, which no session owns, and returns its result.
 * No launch decides meanwhile: one that came before is seen here, one that comes after sees what changed.
 * Throws not_found and slot_in_use.
 */
export async function withFreeSlot<T>(deps: SlotChangeDeps, slotOf: SlotOf, work: SlotWork<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryWithFreeSlot(deps, slotOf, work);
    } catch (error) {
      if (!isLockedByAnother(error)) throw error;
      if (tries === lockTriesMax) throw slotBusy(error);
    }
    await deps.clock.sleep(backOffMs(lockBackOff, tries, Math.random));
  }
}

/**
 * The sweeper may hold the slot for as long as it waits for the object store. All launches would wait for a
 * transaction that waits for that.
 */
function tryWithFreeSlot<T>(deps: SlotChangeDeps, slotOf: SlotOf, work: SlotWork<T>): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    if ((await lockSlot(transaction, slotOf.slotId, { waits: false })) === undefined) throw noSuchSlot();
    const held = await findSlotHistory(deps, transaction, slotOf);
    requireFree(held.slot);
    return work(transaction, held);
  }, lockLaunches);
}

/**
 * Runs `work` in a transaction in which the player's slots of a listed game become no more and no fewer but
 * by it. Throws not_found and conflict.
 */
export async function withGameSaves<T>(
  deps: SlotChangeDeps,
  slotsOf: SlotsOf,
  work: (transaction: Queryable, saves: GameSaves) => Promise<T>,
): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    const saves = await findGameSaves(deps, transaction, slotsOf);
    requireListed(saves.game);
    return work(transaction, saves);
  }, lockLaunches);
}
