import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { createTarPacker, type TarPackController } from "modern-tar";
import { systemErrorCode } from "#runtime/errors.ts";
import { PublishError } from "../publishError.ts";
import type { FolderEntry, FolderListing } from "./listFolder.ts";

/** A packed folder. */
export interface PackedArchive {
  file: string;
  /** Bytes of the archive. */
  size: number;
  /** SHA-256 of the archive, as hexadecimal digits. */
  sha256: string;
  /** Bytes of the tar. */
  unpackedBytes: number;
}

export interface PackOptions {
  /** The file at the root that is always executable, because the server starts it. */
  launcher: string;
  /** Whether files keep their times. With one time for all, a new checkout packs the same bytes. */
  keepTimes: boolean;
  onProgress: (fileBytes: number) => void;
  signal: AbortSignal;
}

const chunkBytes = 1024 * 1024;
/** Before 1980, ZIP tools and some games cannot express a time. */
const fixedTime = new Date(Date.UTC(1980, 0, 1));
/** Servers keep times from 1970 to January 2038. */
const lastSecond = 2 ** 31 - 1;
/** Position of the byte of the gzip header that names the operating system, and the value for "unknown". */
const gzipSystem = { offset: 9, unknown: 255 } as const;

/**
 * Packs the files into a tar.gz. The same files always produce the same bytes with the same version of
 * Node.js: order, times and owners are fixed.
 *
 * @throws PublishError when a file changes meanwhile, or the disk is full
 */
export async function packArchive(
  listing: FolderListing,
  file: string,
  options: PackOptions,
): Promise<PackedArchive> {
  const partial = `${file}.${process.pid}.part`;
  const { readable, controller } = createTarPacker();
  const adding = addEntries(controller, listing.entries, options);
  const hash = createHash("sha256");
  const counts = { unpacked: 0, packed: 0 };
  try {
    const packing = pipeline(
      Readable.fromWeb(readable),
      tap((bytes) => (counts.unpacked += bytes.length)),
      createGzip({ chunkSize: chunkBytes }),
      tap((bytes) => {
        hideSystem(bytes, counts.packed);
        counts.packed += bytes.length;
        hash.update(bytes);
      }),
      createWriteStream(partial, { mode: 0o600 }),
      { signal: options.signal },
    );
    // The first failure ends the other one with an error that says less.
    await Promise.all([adding, packing]);
    await rename(partial, file);
  } catch (error) {
    await Promise.allSettled([adding]);
    await rm(partial, { force: true });
    throw toPackError(error, file);
  }
  return { file, size: counts.packed, sha256: hash.digest("hex"), unpackedBytes: counts.unpacked };
}

async function addEntries(
  controller: TarPackController,
  entries: readonly FolderEntry[],
  options: PackOptions,
): Promise<void> {
  try {
    for (const entry of entries) {
      options.signal.throwIfAborted();
      if (entry.isDirectory) await addDirectory(controller, entry, options);
      else await addFile(controller, entry, options);
    }
    controller.finalize();
  } catch (error) {
    controller.error(error);
    throw error;
  }
}

async function addDirectory(
  controller: TarPackController,
  entry: FolderEntry,
  options: PackOptions,
): Promise<void> {
  const header = { name: `${entry.path}/`, type: "directory" as const, size: 0, mode: 0o755 };
  await controller.add({ ...header, ...owner, mtime: timeOf(entry, options) }).close();
}

const owner = { uid: 0, gid: 0, uname: "", gname: "" };

async function addFile(
  controller: TarPackController,
  entry: FolderEntry,
  options: PackOptions,
): Promise<void> {
  const { path, location, size } = entry;
  const handle = await open(location);
  try {
    const first = await readChunk(handle, 0, size);
    const isExecutable = entry.isMarkedExecutable || path === options.launcher || isProgram(first);
    const mode = isExecutable ? 0o755 : 0o644;
    const header = { name: path, type: "file" as const, size, mode, mtime: timeOf(entry, options) };
    const writer = controller.add({ ...header, ...owner }).getWriter();
    let position = 0;
    for (let chunk = first; position < size; chunk = await readChunk(handle, position, size)) {
      if (chunk.length === 0) throw changedFile(path);
      await writer.write(chunk);
      position += chunk.length;
      options.onProgress(chunk.length);
      options.signal.throwIfAborted();
    }
    const after = await handle.stat();
    if (after.size !== size || after.mtimeMs !== entry.mtimeMs) throw changedFile(path);
    await writer.close();
  } finally {
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, position: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}

/** Servers run scripts and ELF programs even without the mark, so archives of all systems agree. */
function isProgram(start: Buffer): boolean {
  return start.toString("latin1", 0, 2) === "#!" || start.toString("latin1", 0, 4) === "\u007fELF";
}

function timeOf({ mtimeMs }: FolderEntry, { keepTimes }: PackOptions): Date {
  if (!keepTimes) return fixedTime;
  return new Date(Math.min(lastSecond, Math.max(0, Math.floor(mtimeMs / 1000))) * 1000);
}

/** zlib names the system that compressed the data, which says nothing about the game. */
function hideSystem(bytes: Buffer, position: number): void {
  const index = gzipSystem.offset - position;
  if (index >= 0 && index < bytes.length) bytes[index] = gzipSystem.unknown;
}

function tap(see: (bytes: Buffer) => void): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      see(bytes);
      done(undefined, bytes);
    },
  });
}

function changedFile(path: string): PublishError {
  return new PublishError("changed_file", `${path} changed while it was packed. Publish again.`);
}

function toPackError(error: unknown, file: string): unknown {
  if (systemErrorCode(error) !== "ENOSPC") return error;
  return new PublishError(
    "disk_full",
    `The disk of ${file} is full. Free some space, or set XDG_STATE_HOME to a folder on another disk.`,
    { cause: error },
  );
}
