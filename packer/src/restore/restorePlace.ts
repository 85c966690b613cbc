import { lstatSync, renameSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreReport } from "#contracts/spool.ts";
import { writeWhole } from "../spool/spoolFiles.ts";

/** Where a save is restored to. */
export interface RestorePlace {
  /** The game's supervisor starts the game when this appears. */
  saveDirectory: string;
  /** Becomes the save directory when it is complete; beside it, in memory. */
  draft: string;
  spool: string;
}

/** Returns the places of a session in its save volume and its spool. */
export function restorePlace({ saveVolume, spool }: { saveVolume: string; spool: string }): RestorePlace {
  return { saveDirectory: `${saveVolume}/save`, draft: `${saveVolume}/.restoring`, spool };
}

/** Writes what became of the order. */
export function reportRestore({ spool }: RestorePlace, report: RestoreReport): void {
  writeWhole(`${spool}/${spoolNames.report}`, report);
}

/** Lets the complete draft appear as the save directory. */
export function revealDraft({ draft, saveDirectory }: RestorePlace): void {
  renameSync(draft, saveDirectory);
}

/** Whether there is anything of that name, a link included. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
