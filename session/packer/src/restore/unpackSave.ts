import { createHash } from "node:crypto";
import {
  constants,
  createReadStream,
  closeSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  writeSync,
} from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { packerRestoreReasons } from "#contracts/crd/gameSessionReasons.ts";
import { ArchiveRefused, storedSaveRules } from "#archive/archiveRules.ts";
import { createArchiveReader, type ArchiveSink } from "#archive/archiveReader.ts";
import { createStrictGunzip, toArchiveRefused, chunkBytes } from "#archive/gunzip.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import type { ArchiveEntry } from "#archive/archiveInspector.ts";
import { createNew } from "../spool/spoolFiles.ts";

/** Expected checksum and size of an archive. */
interface Expected {
  sha256: string;
  bytes: number;
}

/**
 * Unpacks a save into an empty directory. On failure, the caller removes what was written.
 *
 * @throws SaveError
 */
export async function unpackSave(archive: string, expected: Expected, directory: string): Promise<void> {
  try {
    const file = await open(archive, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      if (size !== expected.bytes)
        throw new SaveError(
          packerRestoreReasons.checksumMismatch,
          `The save to restore has ${size} bytes instead of ${expected.bytes}.`,
        );
      const sha256 = await unpackStream(file, directory).catch((error: unknown) =>
        rethrowWithCause(error, archive, expected),
      );
      if (sha256 !== expected.sha256) throw checksumMismatch(expected, sha256);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw toSaveError(error);
  }
}

async function unpackStream(file: FileHandle, directory: string): Promise<string> {
  const hash = createHash("sha256");
  const gunzip = createStrictGunzip();
  const writer = createTreeWriter(directory);
  const reader = createArchiveReader(storedSaveRules, writer);
  try {
    await pipeline(
      file.createReadStream({ highWaterMark: chunkBytes, autoClose: false }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      gunzip,
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) reader.write(chunk, gunzip.bytesWritten);
      },
    );
    reader.finish();
    return hash.digest("hex");
  } catch (error) {
    throw toArchiveRefused(error);
  } finally {
    writer.close();
  }
}

/**
 * Throws a checksum mismatch if that is the cause (a damaged archive also breaks some rule), otherwise the
 * error.
 */
async function rethrowWithCause(error: unknown, archive: string, expected: Expected): Promise<never> {
  if (!(error instanceof ArchiveRefused)) throw error;
  const hash = createHash("sha256");
  await pipeline(createReadStream(archive, { highWaterMark: chunkBytes }), hash);
  const sha256 = hash.digest("hex");
  throw sha256 === expected.sha256 ? error : checksumMismatch(expected, sha256, error);
}

function checksumMismatch({ sha256: expected }: Expected, actual: string, cause?: unknown): SaveError {
  return new SaveError(
    packerRestoreReasons.checksumMismatch,
    `The save to restore is damaged: its SHA-256 is ${actual} instead of ${expected}.`,
    { cause },
  );
}

function toSaveError(error: unknown): SaveError {
  if (error instanceof SaveError) return error;
  if (error instanceof ArchiveRefused)
    return new SaveError(packerRestoreReasons.saveRefused, error.message, { cause: error });
  const code = systemErrorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new SaveError(
      packerRestoreReasons.saveVolumeFull,
      "The save to restore does not fit into the session's save volume.",
      { cause: error },
    );
  return new SaveError(
    packerRestoreReasons.restoreFailed,
    `The save could not be restored: ${code ?? String(error)}.`,
    { cause: error },
  );
}

/** Writes the entries of an archive below a new directory that nothing else writes to yet. */
interface TreeWriter extends Required<ArchiveSink> {
  /** Closes the open file after a failure. */
  close(): void;
}

/** Returns a writer below `root`. Files keep their times, because games sort saves by them. */
function createTreeWriter(root: string): TreeWriter {
  const directories = new Set<string>();
  let file: number | undefined;
  let mtimeSeconds = 0;
  let position = 0;

  function ensureDirectory(path: string): void {
    if (path === "" || directories.has(path)) return;
    ensureDirectory(parentOf(path));
    mkdirSync(`${root}/${path}`, { mode: 0o700 });
    directories.add(path);
  }

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }

  return {
    entry({ path, isDirectory, isExecutable, mtimeSeconds: time }: ArchiveEntry) {
      ensureDirectory(isDirectory ? path : parentOf(path));
      if (isDirectory) return;
      file = openSync(`${root}/${path}`, createNew, isExecutable ? 0o700 : 0o600);
      mtimeSeconds = time;
      position = 0;
    },
    data(bytes) {
      for (let done = 0; file !== undefined && done < bytes.length;)
        done += writeSync(file, bytes, done, bytes.length - done, position + done);
      position += bytes.length;
    },
    hole(bytes) {
      position += bytes;
      if (file !== undefined) ftruncateSync(file, position);
    },
    endEntry() {
      if (file !== undefined) futimesSync(file, mtimeSeconds, mtimeSeconds);
      close();
    },
    close,
  };
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
