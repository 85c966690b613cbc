import { notFound } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { keptVersions, type HistoryRule } from "./keptVersions.ts";
import {
  findSavesGame,
  listPlayerSlots,
  type PlayerSlot,
  type SavesGame,
  type SlotOf,
  type SlotsOf,
} from "./playerSlotQueries.ts";
import { noSuchSlot } from "./slotErrors.ts";
import { listSaveVersions, type SaveVersion } from "./saveVersionQueries.ts";

/** What reading histories needs. */
export interface SlotHistoryDeps {
  config: { saves: HistoryRule };
}

/** A player's slot with the versions that are kept of it, the newest first. */
export interface SlotHistory extends PlayerSlot {
  versions: SaveVersion[];
}

/** A game's slots of one player, by number. */
export interface GameSaves {
  game: SavesGame;
  slots: SlotHistory[];
}

/** Returns the player's saves of a game, which may be gone. Throws not_found. */
export async function findGameSaves(
  deps: SlotHistoryDeps,
  db: Queryable,
  slotsOf: SlotsOf,
): Promise<GameSaves> {
  const saves = await findSaves(deps, db, slotsOf);
  if (saves === undefined) throw notFound("There is no such game.");
  return saves;
}

async function findSaves(
  { config }: SlotHistoryDeps,
  db: Queryable,
  slotsOf: SlotsOf,
): Promise<GameSaves | undefined> {
  const game = await findSavesGame(db, slotsOf);
  if (game === undefined) return undefined;
  const slots = await listPlayerSlots(db, slotsOf.userId, game.id);
  const versions =
    slots.length === 0
      ? []
      : await listSaveVersions(
          db,
          slots.map(({ id }) => id),
        );
  const bySlot = Map.groupBy(versions, ({ slotId }) => slotId);
  return {
    game,
    slots: slots.map((slot) => ({
      ...slot,
      versions: keptVersions(bySlot.get(slot.id) ?? [], config.saves, game.now),
    })),
  };
}

/**
 * Returns the same with one of the slots. Throws not_found for a slot that is unknown, or somebody else's, in
 * the same words for any game.
 */
export async function findSlotHistory(
  deps: SlotHistoryDeps,
  db: Queryable,
  slotOf: SlotOf,
): Promise<GameSaves & { slot: SlotHistory }> {
  const saves = await findSaves(deps, db, slotOf);
  const slot = saves?.slots.find(({ id }) => id === slotOf.slotId);
  if (saves === undefined || slot === undefined) throw noSuchSlot();
  return { ...saves, slot };
}
