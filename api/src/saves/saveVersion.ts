import { DomainError, notFound } from "../errors.ts";
import type { PlayerSlot } from "./playerSlotQueries.ts";
import type { SaveVersion } from "./saveVersionQueries.ts";
import type { SlotHistory } from "./slotHistory.ts";

/**
 * Whether the slot goes on with this version: a restored one names the object of an earlier one, so that the
 * object alone does not tell.
 */
export function isCurrentVersion(
  { objectKey, generation }: Pick<PlayerSlot, "objectKey" | "generation">,
  version: SaveVersion,
): boolean {
  return (
    version.kind !== "conflict" &&
    version.kind !== "requested" &&
    version.objectKey === objectKey &&
    version.generation === generation
  );
}

/** Returns the version that the slot goes on with; undefined when it has no save yet. */
export function currentVersion(slot: SlotHistory): SaveVersion | undefined {
  return slot.versions.find((version) => isCurrentVersion(slot, version));
}

/** Returns the slot's version of that id. Throws not_found. */
export function versionOf({ versions }: SlotHistory, versionId: string): SaveVersion {
  const version = versions.find(({ id }) => id === versionId);
  if (version === undefined) throw notFound("There is no such version of this save.");
  return version;
}

/**
 * Returns the error for a version that is missing or damaged, which names the newest one before it that can
 * be read.
 */
export function unreadableSave(
  { versions }: Pick<SlotHistory, "versions">,
  version: SaveVersion | undefined,
): DomainError {
  const earlier = versions.slice(versions.findIndex(({ id }) => id === version?.id) + 1);
  const before = earlier.find(
    ({ unreadableAt, objectKey }) => unreadableAt === null && objectKey !== version?.objectKey,
  );
  const advice = before === undefined ? "There is no earlier one." : "Take the version before it.";
  return new DomainError("unreadable_save", {
    message: `This save is missing or damaged. ${advice}`,
    ...(before !== undefined && { extra: { versionId: before.id } }),
  });
}
