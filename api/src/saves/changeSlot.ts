import { requireReadableVersion, type ReadableVersionDeps } from "./readableVersion.ts";
import {
  isCurrentVersion,
  requireVersion,
  requireListed,
  findSlotHistory,
  type SlotHistory,
  noSuchSlot,
  requireFree,
  slotBusy,
  findGameSaves,
  type GameSaves,
  type SlotHistoryDeps,
} from "./slotHistory.ts";
import { insertSlotVersion, lockSlot } from "./saveVersionQueries.ts";
import {
  deleteSlotRow,
  updateSlotLabel,
  type SlotRef,
  lockLaunches,
  type SavesGame,
  type PlayerGameRef,
} from "./playerSlotQueries.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { isLockedByAnother } from "../stores/databaseFailure.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Dependencies of restoring. */
export type RestoreDeps = SlotChangeDeps & ReadableVersionDeps;

/**
 * Restores a version as a new version with the same object, and returns the slot. Restoring the current
 * version is a no-op; any other is read completely first.
 *
 * @throws not_found, slot_in_use, conflict for an unavailable game or too many concurrent reads of the
 *   player, unreadable_save, unavailable
 */
export async function restoreSave(
  deps: RestoreDeps,
  slotRef: SlotRef,
  versionId: string,
  inTransaction?: InTransaction,
): Promise<SlotHistory> {
  const { game, slot: before } = await findSlotHistory(deps, deps.postgres.pool, slotRef);
  requireListed(game);
  if (!isReadableCurrent(before, versionId))
    await requireReadableVersion(deps, slotRef.userId, before, versionId);
  return withFreeSlot(deps, slotRef, async (transaction, { slot }) => {
    // It may have been swept in the meantime.
    const version = requireVersion(slot, versionId);
    // The slot may already have this object, through another version that was restored from it.
    if (version.objectKey !== slot.objectKey)
      await insertSlotVersion(transaction, slot.id, { ...version, kind: "restored" });
    const { slot: after } = await findSlotHistory(deps, transaction, slotRef);
    await inTransaction?.(after, transaction);
    return after;
  });
}

/** Returns whether the version is current and not known to be unreadable. */
function isReadableCurrent(slot: SlotHistory, versionId: string): boolean {
  const version = requireVersion(slot, versionId);
  return isCurrentVersion(slot, version) && version.unreadableAt === null;
}

/**
 * Renames a slot and returns it. An empty name restores the default. Works while the slot is in use.
 *
 * @throws not_found
 */
export async function renameSlot(
  deps: SlotChangeDeps,
  slotRef: SlotRef,
  label: string,
): Promise<SlotHistory> {
  const { pool } = deps.postgres;
  const { slot } = await findSlotHistory(deps, pool, slotRef);
  await updateSlotLabel(pool, slot.id, label === "" ? null : label);
  return (await findSlotHistory(deps, pool, slotRef)).slot;
}

/**
 * Deletes a slot. Its saves stay in the object store for the retention.
 *
 * @throws not_found, slot_in_use
 */
export async function deleteSlot(deps: SlotChangeDeps, slotRef: SlotRef): Promise<SlotHistory> {
  return withFreeSlot(deps, slotRef, async (transaction, { slot }) => {
    await deleteSlotRow(transaction, slot.id);
    return slot;
  });
}

/** Dependencies of slot changes. */
export interface SlotChangeDeps extends SlotHistoryDeps {
  clock: Clock;
  postgres: Postgres;
}

/** Called with the changed slot in the transaction that changes it. */
export type InTransaction = ((slot: SlotHistory, transaction: Queryable) => Promise<void> | void) | undefined;

/** A slot that is locked against changes, launches and sweeps until the transaction ends. */
interface HeldSlot {
  game: SavesGame;
  slot: SlotHistory;
}

type SlotWork<T> = (transaction: Queryable, held: HeldSlot) => Promise<T>;

/**
 * About three seconds in total: longer than the sweeper holds a slot when the object store responds normally.
 */
const lockTriesMax = 6;
const lockBackOff = { baseMs: 100, maxMs: 2_000 };

/**
 * Runs `work` in a transaction that locks a slot without an owner, and returns its result. Launches wait:
 * earlier ones are visible here, later ones see the change.
 *
 * @throws not_found, slot_in_use
 */
export async function withFreeSlot<T>(deps: SlotChangeDeps, slotRef: SlotRef, work: SlotWork<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryWithFreeSlot(deps, slotRef, work);
    } catch (error) {
      if (!isLockedByAnother(error)) throw error;
      if (tries === lockTriesMax) throw slotBusy(error);
    }
    await deps.clock.sleep(backOffMs(lockBackOff, tries, Math.random));
  }
}

/**
 * Fails immediately if the slot is locked. The sweeper can hold the slot as long as it waits for the object
 * store, and all launches would wait for a transaction that waits for the sweeper.
 */
function tryWithFreeSlot<T>(deps: SlotChangeDeps, slotRef: SlotRef, work: SlotWork<T>): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    if ((await lockSlot(transaction, slotRef.slotId, { waits: false })) === undefined) throw noSuchSlot();
    const held = await findSlotHistory(deps, transaction, slotRef);
    requireFree(held.slot);
    return work(transaction, held);
  }, lockLaunches);
}

/**
 * Runs `work` in a transaction that locks the number of the player's slots of an available game.
 *
 * @throws not_found, conflict
 */
export async function withGameSaves<T>(
  deps: SlotChangeDeps,
  gameRef: PlayerGameRef,
  work: (transaction: Queryable, saves: GameSaves) => Promise<T>,
): Promise<T> {
  return deps.postgres.transaction(async (transaction) => {
    const saves = await findGameSaves(deps, transaction, gameRef);
    requireListed(saves.game);
    return work(transaction, saves);
  }, lockLaunches);
}
