import { rm } from "node:fs/promises";
import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { toApiTime, type Clock } from "#kube/clock.ts";
import type { Logger } from "#kube/logger.ts";
import { packSave, type PackedSave } from "../saves/packSave.ts";
import type { ObjectStore } from "../store/objectStore.ts";
import type { SaveOutcome, SessionRecord } from "./record.ts";
import type { SessionFiles } from "./sessionFiles.ts";

export interface StoreSaveDeps {
  files: SessionFiles;
  store: ObjectStore;
  bucket: string;
  clock: Clock;
}

export interface StoreSaveContext {
  signal: AbortSignal;
  logger: Logger;
  /** The game has ended: what is there now is the last of it. */
  isFinal: boolean;
}

/**
 * Packs the session's saves and stores them unless the store has the same bytes already; gives the record as it is on
 * disk afterwards. Throws SaveTooLarge, or ObjectStoreError with the directory as it was.
 */
export async function storeSave(deps: StoreSaveDeps, record: SessionRecord, { signal, logger, isFinal }: StoreSaveContext): Promise<SessionRecord> {
  const { files, clock } = deps;
  const { gameSession } = record;
  const packedPath = files.packedPath(gameSession);
  try {
    const packed = await packSave({
      saveDirectory: files.saveDirectory(gameSession), packedPath, clock, signal,
      onSkip: (path, reason) => logger.warn({ gameSession, path, reason }, "A part of the save directory needs a word."),
    });
    const kept = outcomeWithoutUpload(record, packed);
    const next = kept === undefined
      ? await upload(deps, record, packed, signal, isFinal)
      : { ...record, ...isFinal && record.stored !== undefined ? { stored: { ...record.stored, final: true } } : {} };
    const final = isFinal ? { ...next, outcome: kept ?? stored } : next;
    if (final !== record) await files.write(final);
    return final;
  } finally {
    await rm(packedPath, { force: true });
  }
}

const stored: SaveOutcome = { reason: "Stored", message: "The last save is stored." };

/** Why nothing needs to be sent; undefined when the save is new. */
function outcomeWithoutUpload({ stored: newest, baseSave }: SessionRecord, { sha256, files }: PackedSave): SaveOutcome | undefined {
  if (newest !== undefined) return newest.sha256 === sha256 ? stored : undefined;
  if (baseSave !== undefined) return baseSave.sha256 === sha256 ? { reason: "Unchanged", message: "The game left the restored save as it was." } : undefined;
  return files === 0 ? { reason: "NothingToSave", message: "The game wrote no save." } : undefined;
}

async function upload({ files, store, bucket, clock }: StoreSaveDeps, record: SessionRecord, packed: PackedSave, signal: AbortSignal, final: boolean): Promise<SessionRecord> {
  const sequence = record.sequence + 1;
  const generation = record.baseGeneration + 1;
  const objectKey = saveKey(record.slotId, generation, record.gameSession, sequence);
  // The number is used up before the first byte is sent: an upload cut by a crash is never mistaken for a later one.
  await files.write({ ...record, sequence });
  await store.put({ bucket, key: objectKey }, packed, signal);
  const save: StoredSave = {
    objectKey, sha256: packed.sha256, bytes: packed.sizeBytes, generation, sequence, persistedAt: toApiTime(clock.now()), final,
  };
  return { ...record, sequence, stored: save };
}
