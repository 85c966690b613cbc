import type { Readable } from "node:stream";
import { saveArchiveRules } from "#archive/archiveRules.ts";
import { ArchiveInspection } from "../archives/archiveInspection.ts";
import { fileMemory } from "./fileMemory.ts";
import { readDigest, type SaveDigest } from "./readDigest.ts";

/** A save that was read to its end. */
export interface InspectedSave extends SaveDigest {
  /** Null where it is no archive that a packer would make today. */
  unpackedBytes: number | null;
}

/**
 * Reads a save to its end and returns what it is; undefined as soon as it is larger than `bytesMax`. Who
 * stores saves may store anything: so it is held to the rules for a save as it is packed, which bound what
 * there is to unpack, and what breaks them is only not counted.
 */
export async function inspectSave(save: Readable, bytesMax: number): Promise<InspectedSave | undefined> {
  let [unpackedBytes, isRefused] = [0, false];
  const inspection = new ArchiveInspection(saveArchiveRules, {
    onEntry: (entry) => void (unpackedBytes += fileMemory(entry)),
  });
  // Whatever ends the inspection does not make the save another.
  const inspect = async (step: () => Promise<unknown>): Promise<void> => {
    if (!isRefused) await step().catch(() => void (isRefused = true));
  };
  try {
    const digest = await readDigest(save, bytesMax, (piece) => inspect(() => inspection.write(piece)));
    if (digest === undefined) return undefined;
    await inspect(() => inspection.finish());
    return { ...digest, unpackedBytes: isRefused ? null : unpackedBytes };
  } finally {
    inspection.close();
  }
}
