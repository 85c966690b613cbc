import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { packerRestoreReasons } from "#contracts/crd/reasons.ts";
import { ArchiveRefused } from "#archive/archiveRefused.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { saveArchiveRules } from "#archive/archiveRules.ts";
import { createStrictGunzip, gunzipRefusal, pieceBytes } from "#archive/gunzip.ts";
import { codeOf, Refusal } from "../refusal.ts";
import { createTreeWriter } from "./treeWriter.ts";

/** What an archive must be. */
interface Expected {
  sha256: string;
  bytes: number;
}

/** Unpacks a save into an empty directory. Throws Refusal; what was written by then is for the caller to remove. */
export async function unpackSave(archive: string, expected: Expected, directory: string): Promise<void> {
  try {
    const file = await open(archive, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      if (size !== expected.bytes) throw new Refusal(packerRestoreReasons.checksumMismatch, `The save to restore has ${size} bytes instead of ${expected.bytes}.`);
      const sha256 = await unpackStream(file, directory).catch((error: unknown) => explain(error, archive, expected));
      if (sha256 !== expected.sha256) throw mismatch(expected, sha256);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw refusalOf(error);
  }
}

async function unpackStream(file: FileHandle, directory: string): Promise<string> {
  const hash = createHash("sha256");
  const gunzip = createStrictGunzip();
  const writer = createTreeWriter(directory);
  const reader = createArchiveReader(saveArchiveRules, writer);
  try {
    await pipeline(
      file.createReadStream({ highWaterMark: pieceBytes, autoClose: false }),
      async function* (pieces: AsyncIterable<Buffer>) {
        for await (const piece of pieces) {
          hash.update(piece);
          yield piece;
        }
      },
      gunzip,
      async (pieces: AsyncIterable<Buffer>) => {
        for await (const piece of pieces) reader.write(piece, gunzip.bytesWritten);
      },
    );
    reader.finish();
    return hash.digest("hex");
  } catch (error) {
    throw gunzipRefusal(error);
  } finally {
    writer.close();
  }
}

/** A damaged archive breaks some rule as well: that it is not the one that was ordered says more. */
async function explain(error: unknown, archive: string, expected: Expected): Promise<never> {
  if (!(error instanceof ArchiveRefused)) throw error;
  const hash = createHash("sha256");
  await pipeline(createReadStream(archive, { highWaterMark: pieceBytes }), hash);
  const sha256 = hash.digest("hex");
  throw sha256 === expected.sha256 ? error : mismatch(expected, sha256, error);
}

function mismatch({ sha256: expected }: Expected, actual: string, cause?: unknown): Refusal {
  return new Refusal(packerRestoreReasons.checksumMismatch, `The save to restore has the SHA-256 ${actual} instead of ${expected}.`, { cause });
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof ArchiveRefused) return new Refusal(packerRestoreReasons.saveRefused, error.message, { cause: error });
  const code = codeOf(error);
  if (code === "ENOSPC" || code === "EDQUOT") return new Refusal(packerRestoreReasons.saveVolumeFull, "The save to restore does not fit into the session's save volume.", { cause: error });
  return new Refusal(packerRestoreReasons.restoreFailed, `The save could not be restored: ${code ?? String(error)}.`, { cause: error });
}
