import { rmSync } from "node:fs";
import type { PackedSave } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { Refusal } from "../refusal.ts";
import { lookAtSave, type SaveLook } from "../save/look.ts";
import type { Spool } from "../spool/spool.ts";
import { digestSave, type Archive } from "./archive.ts";
import { draftPack, isSpoolTrouble, refusalOf } from "./draftPack.ts";

export interface SavePackerOptions {
  saveDirectory: string;
  spool: Spool;
  log: Logger;
  /** Signature of the save directory that needs no pack: what the session started from. */
  restored?: string | undefined;
}

/** Packs a save directory when it has changed; what goes wrong is in the manifest. */
export interface SavePacker {
  /** Looks, and packs when needed. Resolves with whether to look again soon; throws the signal's reason. */
  look(signal: AbortSignal): Promise<"soon" | "later">;
  /** Looks for the last time, at saves that nobody writes to any more; rejects when not even the manifest could be written. */
  finish(): Promise<void>;
}

/** So often a pack is thrown away in which a file changed while it was read. */
const unstablePacks = 3;
/** A game can make one look fail and the next one not, for hours. */
const refusalsLogged = 3;

/** What the newest pack, or the restored save, looked like. */
interface Good {
  signature: string;
  /** Absent for the restored save. */
  tarSha256?: string;
}

/** Returns a packer of one save directory into one spool. */
export function createSavePacker({ saveDirectory, spool, log, restored }: SavePackerOptions): SavePacker {
  let good: Good | undefined = restored === undefined ? undefined : { signature: restored };
  let refusedSignature: string | undefined;
  let lastReason: string | undefined;
  let refusals = 0;
  let unstable = 0;

  async function tryLook(isFinal: boolean, signal: AbortSignal): Promise<"soon" | "later"> {
    const seen = lookAtSave(saveDirectory);
    if (!isFinal && seen.signature === refusedSignature) return "later";
    if (await isUnchanged(seen, isFinal)) {
      publish(isFinal);
      return "later";
    }
    return pack(seen, isFinal, signal).catch((error: unknown) => {
      if (error instanceof Refusal && !isSpoolTrouble(error)) refusedSignature = seen.signature;
      throw error;
    });
  }

  /** The last look trusts no times: a file that is mapped into memory changes without them. */
  async function isUnchanged({ signature }: SaveLook, isFinal: boolean): Promise<boolean> {
    if (good?.signature !== signature) return false;
    return !isFinal || good.tarSha256 !== undefined && spool.save() !== undefined && await digestSave(saveDirectory) === good.tarSha256;
  }

  async function pack(seen: SaveLook, isFinal: boolean, signal: AbortSignal): Promise<"soon" | "later"> {
    const sequence = spool.nextSequence();
    const draft = spool.draftPath(sequence);
    const archive = await draftPack(draft, { saveDirectory, saveBytes: seen.bytes, signal });
    if (!archive.isStable && !isFinal && unstable < unstablePacks) {
      unstable += 1;
      rmSync(draft, { force: true });
      return "soon";
    }
    unstable = 0;
    const known = spool.save();
    if (archive.sha256 === known?.sha256) {
      rmSync(draft, { force: true });
      spool.publish({ isFinal, save: { ...describe(archive, known.sequence, known.attempt), packedAt: known.packedAt } });
    } else {
      spool.keep(describe(archive, sequence, spool.attempt), isFinal);
    }
    good = { signature: seen.signature, tarSha256: archive.tarSha256 };
    accepted();
    return "later";
  }

  function publish(isFinal: boolean): void {
    spool.publish({ isFinal });
    accepted();
  }

  function accepted(): void {
    refusedSignature = lastReason = undefined;
  }

  /** The last good pack stays; the manifest says why there is none of what is there now. */
  function refuse(error: unknown, isFinal: boolean): void {
    const refused = refusalOf(error);
    if (!(refused instanceof Refusal)) throw refused;
    if (refused.reason !== lastReason && refusals < refusalsLogged) {
      refusals += 1;
      log.warn({ reason: refused.reason, detail: refused.message }, "The save directory was not packed.");
    }
    lastReason = refused.reason;
    try {
      spool.publish({ refused, isFinal });
    } catch (cause) {
      // A disk that takes no pack may not take the manifest either; the next look tries again, and after the last one the next life.
      if (isFinal || !(refusalOf(cause) instanceof Refusal)) throw cause;
    }
  }

  return {
    async look(signal) {
      try {
        return await tryLook(false, signal);
      } catch (error) {
        signal.throwIfAborted();
        refuse(error, false);
        return "later";
      }
    },
    async finish() {
      await tryLook(true, new AbortController().signal).catch((error: unknown) => refuse(error, true));
    },
  };
}

function describe({ sha256, bytes, entries, files, unpackedBytes, leftOut }: Archive, sequence: number, attempt: number): PackedSave {
  return { sequence, attempt, sha256, bytes, entries, files, unpackedBytes, packedAt: new Date().toISOString(), ...leftOut && { leftOut } };
}
