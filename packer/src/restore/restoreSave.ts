import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreOrder, RestoreReport } from "#contracts/spool.ts";
import { codeOf, Refusal } from "../refusal.ts";
import { lookAtSave } from "../save/look.ts";
import { writeWhole } from "../spool/spoolFiles.ts";
import { unpackSave } from "./unpackSave.ts";

/** Where a save is restored to. */
export interface RestorePlace {
  /** In memory; the game's supervisor starts the game when `saveDirectory` appears in it. */
  saveVolume: string;
  saveDirectory: string;
  spool: string;
}

/** How a restore ended. */
export interface Restored {
  refused?: Refusal;
  /** Signature of what was restored, from before the game could touch it. */
  signature?: string;
}

/**
 * Makes the save directory as ordered. The report is there before the directory appears, and the game starts only after that: a life
 * of the packer that finds no report knows that no game ran, and one that finds it restores nothing.
 */
export async function restoreSave(place: RestorePlace, { uid, save }: RestoreOrder): Promise<Restored> {
  const draft = draftOf(place);
  const restored = await prepareDraft(place, save);
  const { refused } = restored;
  const report: RestoreReport = { version: 1, uid, ...refused && { refused: { reason: refused.reason, message: refused.message } } };
  if (refused) rmSync(draft, { recursive: true, force: true });
  writeWhole(`${place.spool}/${spoolNames.report}`, report);
  if (!refused) renameSync(draft, place.saveDirectory);
  return restored;
}

/** Lets the directory appear that an earlier life had finished, and told of, when it ended in between. */
export function finishRestore(place: RestorePlace): void {
  if (isThere(place.saveDirectory)) return;
  try {
    renameSync(draftOf(place), place.saveDirectory);
  } catch (error) {
    // A game that removed its directory, or has put something else in our way, only harms itself: the next look tells.
    if (codeOf(error) === undefined) throw error;
  }
}

async function prepareDraft(place: RestorePlace, save: RestoreOrder["save"]): Promise<Restored> {
  const draft = draftOf(place);
  try {
    if (isThere(place.saveDirectory)) throw new Refusal("SaveVolumeInUse", "The save volume holds saves already that nobody restored.");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (save !== undefined) await unpackSave(`${place.spool}/${spoolNames.orderedArchive}`, save, draft);
    return { signature: lookAtSave(draft).signature };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error };
    return { refused: new Refusal("RestoreFailed", `The save directory could not be made: ${codeOf(error) ?? String(error)}.`, { cause: error }) };
  }
}

function draftOf({ saveVolume }: RestorePlace): string {
  return `${saveVolume}/.restoring`;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
