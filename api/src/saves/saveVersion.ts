import { DomainError, notFound } from "../errors.ts";
import type { PlayerSlot, SlotVersion } from "./playerSlotQueries.ts";

/** Whether the slot goes on with this version: a restored one names the object of an earlier one, so that the object alone does not tell. */
export function isCurrentVersion({ objectKey, generation }: Pick<PlayerSlot, "objectKey" | "generation">, version: SlotVersion): boolean {
  return version.kind !== "conflict" && version.kind !== "requested" && version.objectKey === objectKey && version.generation === generation;
}

/** Returns the slot's version of that id. Throws not_found. */
export function versionOf({ versions }: Pick<PlayerSlot, "versions">, versionId: string): SlotVersion {
  const version = versions.find(({ id }) => id === versionId);
  if (version === undefined) throw notFound("There is no such version of this save.");
  return version;
}

/** Returns the newest version before this one that can be read; undefined when there is none. */
export function readableBefore(versions: readonly SlotVersion[], version: SlotVersion): SlotVersion | undefined {
  const at = versions.findIndex(({ id }) => id === version.id);
  return versions.slice(at + 1).find(({ unreadableAt, objectKey }) => unreadableAt === null && objectKey !== version.objectKey);
}

/** Returns the error for a version that is missing or damaged, which names the one to take in its place. */
export function unreadableSave(versions: readonly SlotVersion[], version: SlotVersion): DomainError {
  const before = readableBefore(versions, version);
  const advice = before === undefined ? "There is no earlier one." : "Take the version before it.";
  return new DomainError("unreadable_save", {
    message: `This save is missing or damaged. ${advice}`, ...before !== undefined && { extra: { versionId: before.id } },
  });
}
