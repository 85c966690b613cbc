import { mkdirSync, rmSync } from "node:fs";
import { packerRestoreReasons } from "#contracts/crd/gameSessionReasons.ts";
import { packedArchiveName, spoolNames } from "#contracts/nodeLayout.ts";
import type { PackedSave, RestoreOrder } from "#contracts/spool.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import { scanSave } from "../save/scan.ts";
import { pathExists, writeReport, publishDraft, type RestorePaths } from "./saveDirectory.ts";
import { unpackSave } from "./unpackSave.ts";

/** Outcome of a restore. */
export interface Restored {
  error?: SaveError;
  /** Signature of the restored save, taken before the game could touch it. */
  signature?: string;
}

/**
 * Creates the save directory from the order, or from a pack that is newer than the order. The report and the
 * marker are written before the directory appears, and the game starts only after that. A later run that
 * misses either knows that no game ran; a run that finds both restores nothing.
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
 * Publishes the directory of an earlier run that completed, reported and marked it, but ended before
 * publishing.
 */
export function finishRestore(paths: RestorePaths): void {
  if (pathExists(paths.saveDirectory)) return;
  try {
    publishDraft(paths);
  } catch (error) {
    // A game that removed its directory, or replaced the draft, harms only itself. The next scan reports it.
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
        "The save volume already contains saves that were not restored there.",
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
        `The save directory could not be created: ${systemErrorCode(error) ?? String(error)}.`,
        { cause: error },
      ),
    };
  }
}
