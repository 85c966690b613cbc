import { lstatSync, renameSync, writeFileSync, mkdirSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreReport } from "#contracts/spool.ts";
import { writeAtomically, readSmallFile } from "../spool/spoolFiles.ts";
import { parseOrder } from "../spool/restoreOrder.ts";

/** Paths of a restore. */
export interface RestorePaths {
  /** The supervisor starts the game when this directory appears. */
  saveDirectory: string;
  /** In-memory sibling that is renamed to the save directory once it is complete. */
  draft: string;
  /**
   * Empty marker file, created before the draft is renamed. It means that the draft is complete or that the
   * save directory existed, even if the game has removed it since.
   */
  mark: string;
  spool: string;
}

/** Returns the paths in a session's save volume and spool. */
export function restorePaths({ saveVolume, spool }: { saveVolume: string; spool: string }): RestorePaths {
  return {
    saveDirectory: `${saveVolume}/save`,
    draft: `${saveVolume}/.restoring`,
    mark: `${saveVolume}/.restored`,
    spool,
  };
}

/** Writes the outcome of the restore to the spool. */
export function writeReport({ spool }: RestorePaths, report: RestoreReport): void {
  writeAtomically(`${spool}/${spoolNames.report}`, report);
}

/** Renames the complete draft to the save directory. */
export function publishDraft({ draft, mark, saveDirectory }: RestorePaths): void {
  writeFileSync(mark, "");
  renameSync(draft, saveDirectory);
}

/**
 * Returns whether a restore into this volume was completed. Another pod's volume is empty. A draft alone may
 * be incomplete; no game has seen it, and it is recreated.
 */
export function isRestored({ mark, saveDirectory }: RestorePaths): boolean {
  return [saveDirectory, mark].some(pathExists);
}

/** Returns whether the path exists, without following links. */
export function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Save volume, spool and UID of a session. */
interface NewPlaythrough {
  saveVolume: string;
  spool: string;
  uid: string;
}

/**
 * Creates the empty save directory of a new playthrough and returns whether it did. The streamer calls this
 * so that the launch does not wait for the packer to start; the packer finds the report later. Anything
 * unusual is left to the packer.
 */
export function beginNewPlaythrough({ saveVolume, spool, uid }: NewPlaythrough): boolean {
  const paths = restorePaths({ saveVolume, spool });
  try {
    const order = parseOrder(readSmallFile(`${spool}/${spoolNames.order}`) ?? "");
    if (order?.uid !== uid || order.save !== undefined) return false;
    if (isRestored(paths) || pathExists(`${spool}/${spoolNames.report}`)) return false;
    mkdirSync(paths.draft, { mode: 0o700 });
    writeReport(paths, { version: 1, uid });
    publishDraft(paths);
    return true;
  } catch {
    return false; // The packer runs into the same error and reports it.
  }
}
