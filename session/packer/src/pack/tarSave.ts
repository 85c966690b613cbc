import { closeSync, fstatSync, openSync, type BigIntStats, readSync } from "node:fs";
import { Readable } from "node:stream";
import { createTarPacker, type TarPackController } from "modern-tar";
import type { PackedSave } from "#contracts/spool.ts";
import {
  createSkippedEntries,
  openUntrusted,
  readOrSkip,
  walkSave,
  type SaveEntry,
  type WalkContext,
  throwSystemLack,
} from "../save/walk.ts";
import { createSaveQuota } from "../save/saveQuota.ts";

/** The content of a tar. */
export interface TarContent {
  entries: number;
  files: number;
  /** Counted in whole pages. */
  unpackedBytes: number;
  leftOut: PackedSave["leftOut"];
  /** False when the game wrote to one of the files while it was read. */
  isStable: boolean;
}

/** A save directory as an uncompressed tar. */
export interface SaveTar {
  stream: Readable;
  /** Settles after the last entry; rejects with SaveError when the directory breaks a limit. */
  content: Promise<TarContent>;
}

/** The latest time in seconds that twelve octal digits can hold. */
const lastSecond = 8 ** 11 - 1;

/** Starts to read a save directory; the same files make the same bytes. */
export function tarSave(directory: string): SaveTar {
  const { readable, controller } = createTarPacker();
  const content = addEntries(controller, directory)
    .then((counts) => {
      controller.finalize();
      return counts;
    })
    .catch((error: unknown) => {
      controller.error(error);
      throw error;
    });
  return { stream: Readable.fromWeb(readable), content };
}

async function addEntries(controller: TarPackController, directory: string): Promise<TarContent> {
  const context: WalkContext = { quota: createSaveQuota(), skipped: createSkippedEntries() };
  const content = { entries: 0, files: 0, isStable: true };
  for (const entry of walkSave(directory, context)) {
    if (entry.stat.isDirectory()) {
      await controller
        .add({ name: `${entry.path}/`, type: "directory", size: 0, mode: 0o700, mtime: new Date(0) })
        .close();
    } else {
      const added = await addFile(controller, entry, context);
      if (added === undefined) continue;
      content.files += 1;
      content.isStable &&= added.isStable;
    }
    content.entries += 1;
  }
  return { ...content, unpackedBytes: context.quota.bytes(), leftOut: context.skipped.summary() };
}

/** Returns undefined when there is nothing to add: the file was removed, or replaced by something else. */
async function addFile(
  controller: TarPackController,
  { path, location }: SaveEntry,
  context: WalkContext,
): Promise<{ isStable: boolean } | undefined> {
  const { quota, skipped } = context;
  const file = readOrSkip(path, context, () => openSync(location, openUntrusted));
  if (file === undefined) return undefined;
  try {
    const stat = fstatSync(file, { bigint: true });
    if (!stat.isFile()) {
      skipped.add(path, "is neither a file nor a directory");
      return undefined;
    }
    quota.addFile(Number(stat.size));
    const whole = readFixedSize(file, stat);
    await writeBody(controller.add(headerOf(path, stat)), whole.chunks);
    return { isStable: whole.isStable() };
  } finally {
    closeSync(file);
  }
}

function headerOf(path: string, { size, mode, mtimeNs }: BigIntStats) {
  // A game may set any time, and an archive with one that tar cannot express would not be read back.
  const seconds = Math.min(lastSecond, Math.max(0, Math.floor(Number(mtimeNs / 1_000_000_000n))));
  return {
    name: path,
    type: "file" as const,
    size: Number(size),
    mode: (mode & 0o100n) === 0n ? 0o600 : 0o700,
    mtime: new Date(seconds * 1000),
  };
}

async function writeBody(body: WritableStream<Uint8Array>, chunks: Iterable<Buffer>): Promise<void> {
  const writer = body.getWriter();
  for (const chunk of chunks) await writer.write(chunk);
  await writer.close();
}

const chunkBytes = 1024 * 1024;

/** Reading of a file that may change meanwhile. */
interface FixedSizeRead {
  /**
   * As many bytes as the file had when it was opened: no more when it has grown, zeros when it has shrunk.
   */
  chunks: Generator<Buffer, void, void>;
  /** Whether the file did not change while it was read; call after the last chunk. */
  isStable(): boolean;
}

/** Starts to read an open file; `before` is its state when it was opened. */
function readFixedSize(file: number, before: BigIntStats): FixedSizeRead {
  let isTruncated = false;

  function* chunks(): Generator<Buffer, void, void> {
    const size = Number(before.size);
    for (let position = 0; position < size; position += chunkBytes) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, size - position));
      if (!isTruncated && fill(file, chunk, position) < chunk.length) isTruncated = true;
      yield chunk;
    }
  }

  return {
    chunks: chunks(),
    isStable() {
      const after = fstatSync(file, { bigint: true });
      return (
        !isTruncated &&
        after.size === before.size &&
        after.mtimeNs === before.mtimeNs &&
        after.ctimeNs === before.ctimeNs
      );
    },
  };
}

/** Reads into the buffer and returns the number of bytes read. */
function fill(file: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const read = tryRead(file, buffer, filled, position + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}

/**
 * Returns 0 also for what cannot be read: the file's header is written already. Throws SaveError where the
 * system is to blame.
 */
function tryRead(file: number, buffer: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, buffer, offset, buffer.length - offset, position);
  } catch (error) {
    throwSystemLack(error);
    return 0;
  }
}
