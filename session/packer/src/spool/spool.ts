import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { packedArchiveName, packedPictureName, spoolNames } from "#contracts/nodeLayout.ts";
import type { PackedSave, SpoolManifest, RestoreReport } from "#contracts/spool.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { SaveError } from "../errors.ts";
import { moveDurably, writeDurably, readSmallFile } from "./spoolFiles.ts";

/** The packer's folder in the spool: one pack, and the manifest that names it. */
export interface Spool {
  /** Number of this run of the packer, starting at 1. */
  readonly attempt: number;
  /** Returns the newest good pack. */
  save(): PackedSave | undefined;
  /** Marks everything written from now on as an answer to this request. */
  noteRequest(requestedAt: string): void;
  /** Returns the number of the next pack. */
  nextSequence(): number;
  /** Returns the path for an uncommitted pack. */
  draftPath(sequence: number): string;
  /**
   * Makes a finished draft the newest pack, names it in the manifest and removes the previous one. The
   * picture is best effort: a pack without it is as good.
   */
  commit(save: PackedSave, isFinal: boolean, picture?: Buffer): void;
  /** Writes the state after the last scan, with the newest pack, unless the manifest already says so. */
  publish(state: { error?: SaveError | undefined; isFinal: boolean; save?: PackedSave | undefined }): void;
}

/** Opens the spool and continues the counters of an earlier run. */
export async function openSpool(directory: string, uid: string): Promise<Spool> {
  const packed = `${directory}/${spoolNames.packed}`;
  const earlier = await readManifest(directory, uid);
  const attempt = (earlier?.attempt ?? 0) + 1;
  let written: SpoolManifest | undefined;
  let save = earlier?.save;
  let answered = earlier?.answered;
  let lastSequence = save?.sequence ?? 0;

  function write(manifest: SpoolManifest): void {
    if (isDeepStrictEqual(manifest, written)) return;
    writeDurably(`${directory}/${spoolNames.manifest}`, manifest);
    written = manifest;
    save = manifest.save;
  }

  /**
   * Claims the attempt's number before a pack is named after it. A full disk is ignored: there will be no
   * pack either.
   */
  function claim(): void {
    try {
      write({
        version: 1,
        uid,
        attempt,
        final: false,
        ...(save && { save }),
        ...(earlier?.refused && { refused: earlier.refused }),
      });
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error;
    }
  }

  const spool: Spool = {
    attempt,
    save: () => save,
    noteRequest(requestedAt) {
      answered = requestedAt;
    },
    nextSequence: () => lastSequence + 1,
    draftPath: (sequence) => `${packed}/${packedArchiveName({ attempt, sequence })}.new`,
    commit(kept, isFinal, picture) {
      const path = `${packed}/${packedArchiveName(kept)}`;
      // The agent may have read a manifest whose write was reported as failed, so the name of its pack is
      // never reused.
      lastSequence = kept.sequence;
      moveDurably(`${path}.new`, path);
      if (picture !== undefined) tryWritePicture(`${packed}/${packedPictureName(kept)}`, picture);
      write({
        version: 1,
        uid,
        attempt,
        final: isFinal,
        save: kept,
        ...(answered !== undefined && { answered }),
      });
      removeOthers(packed, kept);
    },
    publish({ error, isFinal, save: same = save }) {
      write({
        version: 1,
        uid,
        attempt,
        final: isFinal,
        ...(same && { save: same }),
        ...(answered !== undefined && { answered }),
        ...(error && { refused: { reason: error.reason, message: error.message } }),
      });
    },
  };
  removeOthers(packed, save);
  claim();
  return spool;
}

/** Writes a picture before the manifest names its pack. A full disk costs only the picture. */
function tryWritePicture(path: string, picture: Buffer): void {
  try {
    writeFileSync(path, picture, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    rmSync(path, { force: true });
  }
}

/** Removes packs that the manifest does not name, their pictures, and drafts of earlier runs. */
function removeOthers(packed: string, save: PackedSave | undefined): void {
  const kept = save && [packedArchiveName(save), packedPictureName(save)];
  for (const name of readdirSync(packed)) {
    if (/^save-\d+-\d+\.(tar\.gz(\.new)?|jpg)$/.test(name) && kept?.includes(name) !== true)
      rmSync(`${packed}/${name}`, { force: true });
  }
}

/** Returns the report of an earlier run of this session's packer; undefined without one. */
export async function readReport(spool: string, uid: string): Promise<RestoreReport | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.report}`);
  if (text === undefined) return undefined;
  const { RestoreReport } = await import("#contracts/spool.ts");
  const report = RestoreReport.safeParse(parseJson(text));
  // An unreadable report was still written at the end of a restore: the saves must not be overwritten.
  if (!report.success) return { version: 1, uid };
  return report.data.uid === uid ? report.data : undefined;
}

/** Returns the manifest of an earlier run of this session's packer; undefined without one. */
export async function readManifest(spool: string, uid: string): Promise<SpoolManifest | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.manifest}`);
  if (text === undefined) return undefined;
  const { SpoolManifest } = await import("#contracts/spool.ts");
  const manifest = SpoolManifest.safeParse(parseJson(text));
  return manifest.success && manifest.data.uid === uid ? manifest.data : undefined;
}

/**
 * Returns when the agent last requested a save of this session; undefined if it did not, or if the request is
 * unreadable.
 */
export async function readSaveRequest(spool: string, uid: string): Promise<string | undefined> {
  const text = readSmallFile(`${spool}/${spoolNames.request}`);
  if (text === undefined) return undefined;
  const { SaveRequest } = await import("#contracts/spool.ts");
  const request = SaveRequest.safeParse(parseJson(text));
  return request.success && request.data.uid === uid ? request.data.requestedAt : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema rejects it.
  }
}
