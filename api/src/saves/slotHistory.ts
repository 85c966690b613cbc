import { notFound, DomainError } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { keptVersions, type HistoryRule } from "./sweepPlan.ts";
import {
  findSavesGame,
  listPlayerSlots,
  type PlayerSlot,
  type SavesGame,
  type SlotRef,
  type PlayerGameRef,
} from "./playerSlotQueries.ts";
import { listSaveVersions, type SaveVersion } from "./saveVersionQueries.ts";
import { listVersionDetails, type VersionDetails } from "./savePictureQueries.ts";
import { isOngoing } from "#contracts/crd/sessionState.ts";
import { limits, mebibyte } from "#contracts/limits.ts";

/** Dependencies of reading slot histories. */
export interface SlotHistoryDeps {
  config: { saves: HistoryRule };
}

/** A stored version as its player sees it. */
export type HistoryVersion = SaveVersion & Omit<VersionDetails, "id">;

/** A player's slot with its stored versions, newest first. */
export interface SlotHistory extends PlayerSlot {
  versions: HistoryVersion[];
}

/** A player's slots of a game, sorted by number. */
export interface GameSaves {
  game: SavesGame;
  slots: SlotHistory[];
}

/**
 * Returns the player's saves of a game, which may be unavailable.
 *
 * @throws not_found
 */
export async function findGameSaves(
  deps: SlotHistoryDeps,
  db: Queryable,
  gameRef: PlayerGameRef,
): Promise<GameSaves> {
  const saves = await findSaves(deps, db, gameRef);
  if (saves === undefined) throw notFound("This game does not exist.");
  return saves;
}

async function findSaves(
  { config }: SlotHistoryDeps,
  db: Queryable,
  gameRef: PlayerGameRef,
): Promise<GameSaves | undefined> {
  const game = await findSavesGame(db, gameRef);
  if (game === undefined) return undefined;
  const slots = await listPlayerSlots(db, gameRef.userId, game.id);
  const versions = slots.length === 0 ? [] : await listHistoryVersions(db, slots);
  const bySlot = Map.groupBy(versions, ({ slotId }) => slotId);
  return {
    game,
    slots: slots.map((slot) => ({
      ...slot,
      versions: keptVersions(bySlot.get(slot.id) ?? [], config.saves, game.now),
    })),
  };
}

async function listHistoryVersions(
  db: Queryable,
  slots: readonly Pick<PlayerSlot, "id">[],
): Promise<HistoryVersion[]> {
  const slotIds = slots.map(({ id }) => id);
  const versions = await listSaveVersions(db, slotIds);
  const details = new Map((await listVersionDetails(db, slotIds)).map((version) => [version.id, version]));
  return versions.map((version) => ({
    ...version,
    playSeconds: details.get(version.id)?.playSeconds ?? 0,
    pictureBytes: details.get(version.id)?.pictureBytes ?? null,
  }));
}

/**
 * Returns the player's saves of a game, with one of the slots.
 *
 * @throws not_found for an unknown slot or a slot of another player
 */
export async function findSlotHistory(
  deps: SlotHistoryDeps,
  db: Queryable,
  slotRef: SlotRef,
): Promise<GameSaves & { slot: SlotHistory }> {
  const saves = await findSaves(deps, db, slotRef);
  const slot = saves?.slots.find(({ id }) => id === slotRef.slotId);
  if (saves === undefined || slot === undefined) throw noSuchSlot();
  return { ...saves, slot };
}

/** Returns the error for an unknown slot, or a slot of another player. */
export function noSuchSlot(): DomainError {
  return notFound("This save slot does not exist.");
}

/** Throws conflict for an unavailable game, whose saves can only be downloaded or deleted. */
export function requireListed({ isListed }: SavesGame): void {
  if (!isListed)
    throw new DomainError("conflict", {
      message: "This game is no longer available. Its saves can be downloaded or deleted, but not played.",
    });
}

/** Throws slot_in_use when a session owns the slot. */
export function requireFree({ ownerStatus }: PlayerSlot): void {
  if (ownerStatus === null) return;
  if (isOngoing(ownerStatus)) {
    throw new DomainError("slot_in_use", { message: "This save slot is being played. Stop the game first." });
  }
  throw new DomainError("slot_in_use", {
    message: "The last save of this slot is still being stored. Try again in a moment.",
    retryAfterSeconds: 10,
  });
}

/**
 * Returns the error for a slot that is still locked after several attempts, for example by the sweeper while
 * the object store is slow.
 */
export function slotBusy(cause: unknown): DomainError {
  return new DomainError("slot_in_use", {
    message: "Old saves of this slot are being removed. Try again in a moment.",
    retryAfterSeconds: 5,
    cause,
  });
}

/**
 * Returns the lowest unused slot number.
 *
 * @throws no_empty_slot
 */
export function emptySlotNumber(slots: readonly PlayerSlot[]): number {
  const number = lowestEmptyNumber(slots);
  if (number !== undefined) return number;
  throw new DomainError("no_empty_slot", {
    message: "All save slots of this game are in use. Delete one first.",
  });
}

/** Returns the lowest unused slot number; undefined when all are in use. */
export function lowestEmptyNumber(slots: readonly { number: number }[]): number | undefined {
  const taken = new Set(slots.map(({ number }) => number));
  for (let number = 1; number <= limits.saveSlotsPerGame; number++) {
    if (!taken.has(number)) return number;
  }
  return undefined;
}

/**
 * Returns whether the version is the slot's current one. A restored version has the object of an earlier one,
 * so the object alone does not identify it.
 */
export function isCurrentVersion(
  { objectKey, generation }: Pick<PlayerSlot, "objectKey" | "generation">,
  version: SaveVersion,
): boolean {
  return (
    version.kind !== "conflict" &&
    version.kind !== "requested" &&
    version.kind !== "autosave" &&
    version.objectKey === objectKey &&
    version.generation === generation
  );
}

/** Returns the slot's current version; undefined when it has no save yet. */
export function currentVersion(slot: SlotHistory): HistoryVersion | undefined {
  return slot.versions.find((version) => isCurrentVersion(slot, version));
}

/**
 * Returns the slot's version with that id.
 *
 * @throws not_found
 */
export function requireVersion({ versions }: SlotHistory, versionId: string): HistoryVersion {
  const version = versions.find(({ id }) => id === versionId);
  if (version === undefined) throw notFound("There is no such version of this save.");
  return version;
}

/** Returns the error for a missing or damaged version. It names the newest readable version before it. */
export function unreadableSave(
  { versions }: { versions: readonly SaveVersion[] },
  version: SaveVersion | undefined,
): DomainError {
  const earlier = versions.slice(versions.findIndex(({ id }) => id === version?.id) + 1);
  const before = earlier.find(
    ({ unreadableAt, objectKey }) => unreadableAt === null && objectKey !== version?.objectKey,
  );
  const advice = before === undefined ? "There is no earlier version." : "Use the version before it.";
  return new DomainError("unreadable_save", {
    message: `This save is missing or damaged. ${advice}`,
    ...(before !== undefined && { extra: { versionId: before.id } }),
  });
}

/** Returns the size limit of a game's save files in bytes: the game's own limit, or the default. */
export function saveBytesMaxOf(saveLimitMb: number | null): number {
  return saveLimitMb === null ? limits.save.volumeBytes.default : saveLimitMb * mebibyte;
}
