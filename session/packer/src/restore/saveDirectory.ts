import { lstatSync, renameSync, writeFileSync, mkdirSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreReport } from "#contracts/spool.ts";
import { writeAtomically, readSmallFile } from "../spool/spoolFiles.ts";
import { parseOrder } from "../spool/restoreOrder.ts";

/** The paths of a restore. */
export interface RestorePaths {
  /** The game's supervisor starts the game when this appears. */
  saveDirectory: string;
  /** Is renamed to the save directory when it is complete; beside it, in memory. */
  draft: string;
  /**
   * An empty file beside it, made before the draft is renamed: it says that the draft is complete, or that
   * the save directory was there, whatever became of it.
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

/** Writes the outcome of the order. */
export function writeReport({ spool }: RestorePaths, report: RestoreReport): void {
  writeAtomically(`${spool}/${spoolNames.report}`, report);
}

/** Renames the complete draft to the save directory. */
export function publishDraft({ draft, mark, saveDirectory }: RestorePaths): void {
  writeFileSync(mark, "");
  renameSync(draft, saveDirectory);
}

/**
 * Whether a restore into this volume was completed; the volume of another pod is empty. A draft alone may be
 * half of a save: no game has seen it, and it is made anew.
 */
export function isRestored({ mark, saveDirectory }: RestorePaths): boolean {
  return [saveDirectory, mark].some(pathExists);
}

/** Whether anything has this path, links included. */
export function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The session's save volume, spool and uid. */
interface NewPlaythrough {
  saveVolume: string;
  spool: string;
  uid: string;
}

/**
 * Creates the empty save directory of a session that starts anew, in the steps of a restore; returns whether
 * it did. The streamer does this itself, because a launch would wait for a packer to start; one that starts
 * later finds the report. Anything unusual is left to the packer.
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
    return false; // The packer meets the same error, and reports it.
  }
}
