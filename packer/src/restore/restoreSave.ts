import { mkdirSync, rmSync } from "node:fs";
import { packerRestoreReasons } from "#contracts/crd/reasons.ts";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreOrder } from "#contracts/spool.ts";
import { codeOf, Refusal } from "../refusal.ts";
import { lookAtSave } from "../save/look.ts";
import { isThere, reportRestore, revealDraft, type RestorePlace } from "./restorePlace.ts";
import { unpackSave } from "./unpackSave.ts";

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
  const restored = await prepareDraft(place, save);
  const { refused } = restored;
  if (refused) rmSync(place.draft, { recursive: true, force: true });
  reportRestore(place, { version: 1, uid, ...refused && { refused: { reason: refused.reason, message: refused.message } } });
  if (!refused) revealDraft(place);
  return restored;
}

/** Lets the directory appear that an earlier life had finished, and told of, when it ended in between. */
export function finishRestore(place: RestorePlace): void {
  if (isThere(place.saveDirectory)) return;
  try {
    revealDraft(place);
  } catch (error) {
    // A game that removed its directory, or has put something else in our way, only harms itself: the next look tells.
    if (codeOf(error) === undefined) throw error;
  }
}

async function prepareDraft(place: RestorePlace, save: RestoreOrder["save"]): Promise<Restored> {
  const { draft } = place;
  try {
    if (isThere(place.saveDirectory)) throw new Refusal(packerRestoreReasons.saveVolumeInUse, "The save volume holds saves already that nobody restored.");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (save !== undefined) await unpackSave(`${place.spool}/${spoolNames.orderedArchive}`, save, draft);
    return { signature: lookAtSave(draft).signature };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error };
    return { refused: new Refusal(packerRestoreReasons.restoreFailed, `The save directory could not be made: ${codeOf(error) ?? String(error)}.`, { cause: error }) };
  }
}
