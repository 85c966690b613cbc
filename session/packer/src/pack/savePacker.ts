import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { PackedSave } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { SaveError } from "../errors.ts";
import { countChanged, scanSave, type SaveScan } from "../save/scan.ts";
import type { Spool } from "../spool/spool.ts";
import { digestSave, type Archive, isTransient, toSaveError, writePack } from "./archive.ts";

export interface SavePackerOptions {
  saveDirectory: string;
  spool: Spool;
  logger: Logger;
  /** Signature of the restored save, which needs no pack. */
  restored?: string | undefined;
  /** Returns the latest picture of the game; undefined without one. */
  picture?: (() => Buffer | undefined) | undefined;
  /** Resolves to the time of the last save request; undefined without a request. */
  readRequest?: (() => Promise<string | undefined>) | undefined;
}

/** Packs a save directory when it has changed. The manifest records why a pack failed. */
export interface SavePacker {
  /**
   * Scans the directory and packs it when needed. Resolves to when the next scan is due.
   *
   * @throws the signal's reason
   */
  packIfChanged(signal: AbortSignal): Promise<"soon" | "later">;
  /**
   * Packs for the last time, after the game has ended. Rejects only when the manifest could not be written
   * either.
   */
  finish(): Promise<void>;
}

/** Packs in a row that are discarded because the game wrote to the saves while they were read. */
const maxUnstablePacks = 3;
/** Bounds the log: a game can alternate failing and successful scans for hours. */
const maxLoggedErrors = 3;

const lastTries = 3;
const betweenLastTriesMs = 500;

/** State of the save directory when it was last packed or restored. */
interface PackedState {
  signature: string;
  /** Absent for the restored save. */
  tarSha256?: string;
}

/** Returns a packer for one save directory and one spool. */
export function createSavePacker({
  saveDirectory,
  spool,
  logger,
  restored,
  picture,
  readRequest,
}: SavePackerOptions): SavePacker {
  let packed: PackedState | undefined = restored === undefined ? undefined : { signature: restored };
  let failedSignature: string | undefined;
  let lastReason: string | undefined;
  let loggedErrors = 0;
  let unstablePacks = 0;

  async function tryPack(isFinal: boolean, signal: AbortSignal): Promise<"soon" | "later"> {
    const requested = await readRequest?.();
    const scan = scanSave(saveDirectory);
    if (requested !== undefined) spool.noteRequest(requested);
    if (!isFinal && scan.signature === failedSignature) return "later";
    // A restored save has no pack yet, and a player who requests one gets it.
    const isRequested = requested !== undefined && spool.save() === undefined;
    if (!isRequested && (await isUnchanged(scan, isFinal))) {
      publish(isFinal);
      return "later";
    }
    return pack(scan, isFinal, signal).catch((error: unknown) => {
      if (error instanceof SaveError && !isTransient(error)) failedSignature = scan.signature;
      throw error;
    });
  }

  /** The last pack compares contents: a memory-mapped file changes without changing its times. */
  async function isUnchanged({ signature }: SaveScan, isFinal: boolean): Promise<boolean> {
    if (packed?.signature !== signature) return false;
    return (
      !isFinal ||
      (packed.tarSha256 !== undefined &&
        spool.save() !== undefined &&
        (await digestSave(saveDirectory)) === packed.tarSha256)
    );
  }

  async function pack(scan: SaveScan, isFinal: boolean, signal: AbortSignal): Promise<"soon" | "later"> {
    const sequence = spool.nextSequence();
    const draft = spool.draftPath(sequence);
    const archive = await writePack(draft, { saveDirectory, saveBytes: scan.bytes, signal });
    if (!isFinal && unstablePacks < maxUnstablePacks && !(archive.isStable && isConsistent(scan))) {
      unstablePacks += 1;
      rmSync(draft, { force: true });
      return "soon";
    }
    unstablePacks = 0;
    const known = spool.save();
    if (archive.sha256 === known?.sha256) {
      rmSync(draft, { force: true });
      spool.publish({
        isFinal,
        save: { ...describe(archive, known.sequence, known.attempt), packedAt: known.packedAt },
      });
    } else {
      spool.commit(describe(archive, sequence, spool.attempt), isFinal, picture?.());
    }
    packed = { signature: scan.signature, tarSha256: archive.tarSha256 };
    clearErrors();
    return "later";
  }

  /**
   * Returns whether the pack shows a single moment. Even when no file changed while it was read, the pack may
   * hold one file from before a write and another from after it. If only one file changed (a log, for
   * example), the pack is consistent.
   */
  function isConsistent(scan: SaveScan): boolean {
    try {
      return countChanged(scan, scanSave(saveDirectory)) <= 1;
    } catch (error) {
      if (error instanceof SaveError) return false; // The next scan reports it.
      throw error;
    }
  }

  /**
   * Retries, because no later scan makes up for a transient error or a disk that has room again in a moment.
   */
  async function packLast(tries: number): Promise<void> {
    try {
      await tryPack(true, new AbortController().signal);
    } catch (error) {
      const saveError = toSaveError(error);
      if (tries === 1 || !(saveError instanceof SaveError) || !isTransient(saveError)) throw error;
      await delay(betweenLastTriesMs);
      await packLast(tries - 1);
    }
  }

  function publish(isFinal: boolean): void {
    spool.publish({ isFinal });
    clearErrors();
  }

  function clearErrors(): void {
    failedSignature = lastReason = undefined;
  }

  /** Keeps the last good pack and records in the manifest why the current saves were not packed. */
  function recordError(error: unknown, isFinal: boolean): void {
    const saveError = toSaveError(error);
    if (!(saveError instanceof SaveError)) throw saveError;
    if (saveError.reason !== lastReason && loggedErrors < maxLoggedErrors) {
      loggedErrors += 1;
      logger.warn(
        { reason: saveError.reason, detail: saveError.message },
        "The save directory could not be packed.",
      );
    }
    lastReason = saveError.reason;
    try {
      spool.publish({ error: saveError, isFinal });
    } catch (cause) {
      // A disk without room for a pack may have none for the manifest either. The next scan retries; after
      // the last scan, the next run does.
      if (isFinal || !(toSaveError(cause) instanceof SaveError)) throw cause;
    }
  }

  return {
    async packIfChanged(signal) {
      try {
        return await tryPack(false, signal);
      } catch (error) {
        signal.throwIfAborted();
        recordError(error, false);
        return "later";
      }
    },
    async finish() {
      await packLast(lastTries).catch((error: unknown) => recordError(error, true));
    },
  };
}

function describe(
  { sha256, bytes, entries, files, unpackedBytes, leftOut }: Archive,
  sequence: number,
  attempt: number,
): PackedSave {
  return {
    sequence,
    attempt,
    sha256,
    bytes,
    entries,
    files,
    unpackedBytes,
    packedAt: new Date().toISOString(),
    ...(leftOut && { leftOut }),
  };
}
