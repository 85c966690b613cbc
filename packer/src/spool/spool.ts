import { readdirSync, rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { packedArchiveName, spoolNames } from "#contracts/nodeLayout.ts";
import type { PackedSave, SpoolManifest } from "#contracts/spool.ts";
import { codeOf, type Refusal } from "../errors.ts";
import { readManifest } from "./history.ts";
import { moveDurably, writeDurably } from "./spoolFiles.ts";

/** The packer's own folder in the spool: one pack, and the manifest that names it. */
export interface Spool {
  /** Which life of the packer this is. */
  readonly attempt: number;
  /** The newest good pack. */
  save(): PackedSave | undefined;
  /** Number of the next pack. */
  nextSequence(): number;
  /** Path to write a pack to before it is kept. */
  draftPath(sequence: number): string;
  /** Keeps a finished draft as the newest pack, names it in the manifest and removes the one before. */
  keep(save: PackedSave, isFinal: boolean): void;
  /** Writes what the last look found beside the newest pack, unless the manifest says so already. */
  publish(state: { refused?: Refusal | undefined; isFinal: boolean; save?: PackedSave | undefined }): void;
}

/** Opens the spool after an earlier life, or none. */
export async function openSpool(directory: string, uid: string): Promise<Spool> {
  const packed = `${directory}/${spoolNames.packed}`;
  const earlier = await readManifest(directory, uid);
  const attempt = (earlier?.attempt ?? 0) + 1;
  let written: SpoolManifest | undefined;
  let save = earlier?.save;

  function write(manifest: SpoolManifest): void {
    if (isDeepStrictEqual(manifest, written)) return;
    writeDurably(`${directory}/${spoolNames.manifest}`, manifest);
    written = manifest;
    save = manifest.save;
  }

  /** Uses the attempt up before a pack has its name, unless the disk is full: then there is no pack either. */
  function claim(): void {
    try {
      write({ version: 1, uid, attempt, final: false, ...save && { save }, ...earlier?.refused && { refused: earlier.refused } });
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
    }
  }

  const spool: Spool = {
    attempt,
    save: () => save,
    nextSequence: () => (save?.sequence ?? 0) + 1,
    draftPath: (sequence) => `${packed}/${packedArchiveName({ attempt, sequence })}.new`,
    keep(kept, isFinal) {
      const path = `${packed}/${packedArchiveName(kept)}`;
      moveDurably(`${path}.new`, path);
      write({ version: 1, uid, attempt, final: isFinal, save: kept });
      removeOthers(packed, kept);
    },
    publish({ refused, isFinal, save: same = save }) {
      write({
        version: 1, uid, attempt, final: isFinal, ...same && { save: same },
        ...refused && { refused: { reason: refused.reason, message: refused.message } },
      });
    },
  };
  removeOthers(packed, save);
  claim();
  return spool;
}

/** Removes packs that no manifest names, and drafts of an earlier life. */
function removeOthers(packed: string, save: PackedSave | undefined): void {
  const kept = save && packedArchiveName(save);
  for (const name of readdirSync(packed)) {
    if (/^save-\d+-\d+\.tar\.gz(\.new)?$/.test(name) && name !== kept) rmSync(`${packed}/${name}`, { force: true });
  }
}
