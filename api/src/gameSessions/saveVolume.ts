import { limits, mebibyte } from "#contracts/limits.ts";
import { saveBytesMaxOf } from "../saves/slotHistory.ts";
import type { Slot } from "./slotChoice.ts";

const { volumeBytes, unpackedBytes: mostUnpackedBytes } = limits.save;
/**
 * A guess for a save whose unpacked size is not known: what a game's archive of its size may unpack to. Few
 * saves do to more, though they may.
 */
const { ratio, ratioFreeBytes } = limits.archive;

/**
 * Returns the size of a session's save volume in bytes: what the game may keep, or the default, and never
 * less than what the slot's save takes.
 */
export function saveVolumeBytesFor(
  saveLimitMb: number | null,
  slot: Pick<Slot, "objectKey" | "bytes" | "unpackedBytes">,
): number {
  return Math.min(
    Math.max(saveBytesMaxOf(saveLimitMb), wholeMebibytes(storedBytes(slot))),
    2 * volumeBytes.max,
  );
}

/** Returns what a slot's save takes unpacked; a large guess, where that is not known. */
function storedBytes({
  objectKey,
  bytes,
  unpackedBytes,
}: Pick<Slot, "objectKey" | "bytes" | "unpackedBytes">): number {
  if (objectKey === null) return 0;
  return unpackedBytes ?? Math.min(mostUnpackedBytes, Math.max(ratioFreeBytes, (bytes ?? 0) * ratio));
}

function wholeMebibytes(bytes: number): number {
  return Math.ceil(bytes / mebibyte) * mebibyte;
}
