import { mkdirSync, rmSync } from "node:fs";
import { packerRestoreReasons } from "#contracts/crd/gameSessionReasons.ts";
import { packedArchiveName, spoolNames } from "#contracts/nodeLayout.ts";
import type { PackedSave, RestoreOrder } from "#contracts/spool.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import { scanSave } from "../save/scan.ts";
import { pathExists, writeReport, publishDraft, type RestorePaths } from "./saveDirectory.ts";
import { unpackSave } from "./unpackSave.ts";

/** The outcome of a restore. */
export interface Restored {
  error?: SaveError;
  /** Signature of what was restored, from before the game could touch it. */
  signature?: string;
}

/**
 * Creates the save directory as ordered, or from the pack that is newer than the order. Report and mark are
 * written before the directory appears, and the game starts only after that: a run of the packer that finds
 * no report, or no mark in its volume, knows that no game ran there, and one that finds both restores
 * nothing.
 */
export async function restoreSave(
  paths: RestorePaths,
  { uid, save }: RestoreOrder,
  packed?: PackedSave,
): Promise<Restored> {
  const restored = await prepareDraft(
    paths,
    packed ?? save,
    packed ? `${spoolNames.packed}/${packedArchiveName(packed)}` : spoolNames.orderedArchive,
  );
  const { error } = restored;
  if (error) rmSync(paths.draft, { recursive: true, force: true });
  writeReport(paths, {
    version: 1,
    uid,
    ...(error && { refused: { reason: error.reason, message: error.message } }),
  });
  if (!error) publishDraft(paths);
  return restored;
}

/**
 * Publishes the directory that an earlier run had completed, reported and marked, when it ended before it
 * could do so.
 */
export function finishRestore(paths: RestorePaths): void {
  if (pathExists(paths.saveDirectory)) return;
  try {
    publishDraft(paths);
  } catch (error) {
    // A game that removed its directory, or put something in the draft's place, harms only itself: the next
    // scan reports it.
    if (systemErrorCode(error) === undefined) throw error;
  }
}

async function prepareDraft(
  paths: RestorePaths,
  save: RestoreOrder["save"],
  archive: string,
): Promise<Restored> {
  const { draft } = paths;
  try {
    if (pathExists(paths.saveDirectory))
      throw new SaveError(
        packerRestoreReasons.saveVolumeInUse,
        "The save volume holds saves already that nobody restored.",
      );
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (save !== undefined) await unpackSave(`${paths.spool}/${archive}`, save, draft);
    return { signature: scanSave(draft).signature };
  } catch (error) {
    if (error instanceof SaveError) return { error };
    return {
      error: new SaveError(
        packerRestoreReasons.restoreFailed,
        `The save directory could not be made: ${systemErrorCode(error) ?? String(error)}.`,
        { cause: error },
      ),
    };
  }
}
