import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import { createNew } from "../spool/spoolFiles.ts";
import { writeArchive, type Archive, type WriteArchiveOptions } from "./archive.ts";

const passingReasons: ReadonlySet<string> = new Set([
  saveReasons.spoolFull,
  saveReasons.spoolFailed,
  saveReasons.saveUnreadable,
]);

/**
 * Packs a save directory into a new file, which is on disk when this resolves and removed when it throws.
 * Throws SaveError, or the signal's reason.
 */
export async function writePack(
  path: string,
  options: Omit<WriteArchiveOptions, "target">,
): Promise<Archive> {
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
    throw toSaveError(error);
  }
}

/** Returns a SaveError for an error of the node's disk, any other error as it is. */
export function toSaveError(error: unknown): unknown {
  const code = systemErrorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new SaveError(saveReasons.spoolFull, "The node's disk is full: the save could not be packed.", {
      cause: error,
    });
  if (code !== undefined && /^E[A-Z0-9]+$/.test(code))
    return new SaveError(
      saveReasons.spoolFailed,
      `The save could not be packed onto the node's disk: ${code}.`,
      { cause: error },
    );
  return error;
}

/**
 * Whether the error is the node's, such as its disk's, rather than that of the saves: then the same saves are
 * packed again later.
 */
export function mayPass({ reason }: SaveError): boolean {
  return passingReasons.has(reason);
}
