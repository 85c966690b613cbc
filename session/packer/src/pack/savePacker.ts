import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { PackedSave } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { SaveError } from "../errors.ts";
import { countChanged, scanSave, type SaveScan } from "../save/scan.ts";
import type { Spool } from "../spool/spool.ts";
import { digestSave, type Archive, mayPass, toSaveError, writePack } from "./archive.ts";

export interface SavePackerOptions {
  saveDirectory: string;
  spool: Spool;
  logger: Logger;
  /** Signature of the save directory that needs no pack: what the session started from. */
  restored?: string | undefined;
  /** Resolves with when a save was last asked for; undefined when none was. */
  requestedAt?: (() => Promise<string | undefined>) | undefined;
}

/** Packs a save directory when it has changed, and writes to the manifest why it could not. */
export interface SavePacker {
  /**
   * Scans the directory, and packs it when needed. Resolves with when to scan again; throws the signal's
   * reason.
   */
  packIfChanged(signal: AbortSignal): Promise<"soon" | "later">;
  /**
   * Packs for the last time, when nobody writes to the saves any more; rejects when not even the manifest
   * could be written.
   */
  finish(): Promise<void>;
}

/** At most this many packs in a row are discarded because the game wrote to the saves meanwhile. */
const maxUnstablePacks = 3;
/** Bounds the log: a game can make one scan fail and the next one succeed, for hours. */
const maxLoggedErrors = 3;

const lastTries = 3;
const betweenLastTriesMs = 500;

/** State of the save directory when it was last packed or restored. */
interface PackedState {
  signature: string;
  /** Absent for the restored save. */
  tarSha256?: string;
}

/** Returns a packer of one save directory into one spool. */
export function createSavePacker({
  saveDirectory,
  spool,
  logger,
  restored,
  requestedAt,
}: SavePackerOptions): SavePacker {
  let packed: PackedState | undefined = restored === undefined ? undefined : { signature: restored };
  let failedSignature: string | undefined;
  let lastReason: string | undefined;
  let loggedErrors = 0;
  let unstablePacks = 0;

  async function tryPack(isFinal: boolean, signal: AbortSignal): Promise<"soon" | "later"> {
    const asked = await requestedAt?.();
    const scan = scanSave(saveDirectory);
    if (asked !== undefined) spool.noteRequest(asked);
    if (!isFinal && scan.signature === failedSignature) return "later";
    // Of a save that was restored there is no pack, and a player who asks for one gets it.
    const isWanted = asked !== undefined && spool.save() === undefined;
    if (!isWanted && (await isUnchanged(scan, isFinal))) {
      publish(isFinal);
      return "later";
    }
    return pack(scan, isFinal, signal).catch((error: unknown) => {
      if (error instanceof SaveError && !mayPass(error)) failedSignature = scan.signature;
      throw error;
    });
  }

  /** Does not rely on times for the last pack: a file that is mapped into memory changes without them. */
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
    if (!isFinal && unstablePacks < maxUnstablePacks && !(archive.isStable && isOfOneMoment(scan))) {
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
      spool.commit(describe(archive, sequence, spool.attempt), isFinal);
    }
    packed = { signature: scan.signature, tarSha256: archive.tarSha256 };
    clearErrors();
    return "later";
  }

  /**
   * A pack may hold one file as it was before and another as it is after a game's write of both, though
   * neither changed while it was read. Where only one has changed, a log perhaps, the pack is of the moment
   * before or after that.
   */
  function isOfOneMoment(scan: SaveScan): boolean {
    try {
      return countChanged(scan, scanSave(saveDirectory)) <= 1;
    } catch (error) {
      if (error instanceof SaveError) return false; // The next scan says so.
      throw error;
    }
  }

  /**
   * There is no later look that would make up for a node that fails once, or whose disk has room again in a
   * moment.
   */
  async function packLast(tries: number): Promise<void> {
    try {
      await tryPack(true, new AbortController().signal);
    } catch (error) {
      const saveError = toSaveError(error);
      if (tries === 1 || !(saveError instanceof SaveError) || !mayPass(saveError)) throw error;
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

  /** Keeps the last good pack; the manifest says why the present saves are not packed. */
  function recordError(error: unknown, isFinal: boolean): void {
    const saveError = toSaveError(error);
    if (!(saveError instanceof SaveError)) throw saveError;
    if (saveError.reason !== lastReason && loggedErrors < maxLoggedErrors) {
      loggedErrors += 1;
      logger.warn(
        { reason: saveError.reason, detail: saveError.message },
        "The save directory was not packed.",
      );
    }
    lastReason = saveError.reason;
    try {
      spool.publish({ error: saveError, isFinal });
    } catch (cause) {
      // A disk without room for a pack may have none for the manifest either; the next scan tries again, and
      // after the last one the next run.
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
