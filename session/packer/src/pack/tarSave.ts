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
  throwIfExhausted,
} from "../save/walk.ts";
import { createSaveQuota } from "../save/saveQuota.ts";

/** Counts of a tar's content. */
export interface TarContent {
  entries: number;
  files: number;
  /** In whole pages. */
  unpackedBytes: number;
  leftOut: PackedSave["leftOut"];
  /** False when the game wrote to a file while it was read. */
  isStable: boolean;
}

/** A save directory as an uncompressed tar. */
export interface SaveTar {
  stream: Readable;
  /** Settles after the last entry. Rejects with SaveError when the directory exceeds a limit. */
  content: Promise<TarContent>;
}

/** Latest time that a tar header can hold: twelve octal digits of seconds. */
const lastSecond = 8 ** 11 - 1;

/** Starts reading a save directory. The same files always produce the same bytes. */
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

/** Returns undefined when the file was removed or replaced by something else. */
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
    await writeBody(controller.add(buildHeader(path, stat)), whole.chunks);
    return { isStable: whole.isStable() };
  } finally {
    closeSync(file);
  }
}

function buildHeader(path: string, { size, mode, mtimeNs }: BigIntStats) {
  // A game may set any time. A time that tar cannot express would make the archive unreadable.
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

/** Reads a file that may change during the read. */
interface FixedSizeRead {
  /**
   * Exactly the size that the file had when it was opened: truncated if it has grown, padded with zeros if it
   * has shrunk.
   */
  chunks: Generator<Buffer, void, void>;
  /** Returns whether the file stayed unchanged. Call it after the last chunk. */
  isStable(): boolean;
}

/** Starts reading an open file. `before` is its state when it was opened. */
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

/** Fills the buffer and returns the number of bytes read. */
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
 * Returns 0 for unreadable bytes as well, because the file's header is already written.
 *
 * @throws SaveError when the system ran out of a resource.
 */
function tryRead(file: number, buffer: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, buffer, offset, buffer.length - offset, position);
  } catch (error) {
    throwIfExhausted(error);
    return 0;
  }
}
