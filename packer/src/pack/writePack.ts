import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { codeOf, Refusal } from "../errors.ts";
import { createNew } from "../spool/spoolFiles.ts";
import { writeArchive, type Archive, type WriteArchiveOptions } from "./archive.ts";

/** Packs a save directory into a new file, which is on disk when this resolves and gone when it throws. Throws Refusal, or the signal's reason. */
export async function draftPack(path: string, options: Omit<WriteArchiveOptions, "target">): Promise<Archive> {
  try {
    rmSync(path, { force: true });
    const target = await open(path, createNew, 0o600);
    try {
      const archive = await writeArchive({ ...options, target });
      await target.sync();
      return archive;
    } finally {
      await target.close();
    }
  } catch (error) {
    rmSync(path, { force: true });
    throw refusalOf(error);
  }
}

/** Returns a Refusal for trouble with the node's disk, any other error as it is. */
export function refusalOf(error: unknown): unknown {
  const code = codeOf(error);
  if (code === "ENOSPC" || code === "EDQUOT") return new Refusal(saveReasons.spoolFull, "The node's disk is full: the save could not be packed.", { cause: error });
  if (code !== undefined && /^E[A-Z0-9]+$/.test(code)) return new Refusal(saveReasons.spoolFailed, `The save could not be packed onto the node's disk: ${code}.`, { cause: error });
  return error;
}

/** Whether the node's disk is to blame: then the same saves are tried again. */
export function isSpoolTrouble({ reason }: Refusal): boolean {
  return reason === saveReasons.spoolFull || reason === saveReasons.spoolFailed;
}
