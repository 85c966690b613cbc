import { createHash, type Hash } from "node:crypto";
import type { Gunzip } from "node:zlib";
import type { ArchiveSummary } from "#archive/archiveInspector.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { ArchiveRefused, type ArchiveRules } from "#archive/archiveRules.ts";
import { chunkBytes, createStrictGunzip, toArchiveRefused } from "#archive/gunzip.ts";
import { messageOf } from "#runtime/errors.ts";
import { releaseMemory } from "#runtime/releaseMemory.ts";
import { ChecksumMismatch } from "../objectStore/objectStore.ts";
import { createTreeWriter, type TreeStyle, type TreeWriter } from "./treeWriter.ts";

/** What is unpacked, and where to. */
interface UnpackOptions {
  /** The packed bytes. */
  source: AsyncIterable<Buffer>;
  /** How many these are, where that is known. */
  packedTotal?: number | undefined;
  sha256: string;
  /** Exists, is empty, and belongs to this call alone. */
  directory: string;
  rules: ArchiveRules;
  style: TreeStyle;
  /** Told how many packed bytes have been read. */
  onProgress?: ((packedBytes: number) => void) | undefined;
  /** Told of each piece that has been unpacked and written. */
  onWritten?: ((bytes: number) => void) | undefined;
}

/** Pieces on their way through gunzip: on a busy machine it need not wait for the reader's turn. */
const piecesAhead = 4;

/** The archive breaks the rules, and is too long for the agent to learn whether it has the right digest. */
export class UnverifiedArchive extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = "UnverifiedArchive";
  }
}

/**
 * A refused archive is still read to its end when no more than this is left, to learn whether it was only
 * damaged on the way.
 */
const readOnBytes = 256 * 1024 * 1024;

/**
 * Unpacks a tar.gz while hashing it, in one pass. Returns what was unpacked when the digest is right and
 * everything is on disk. Throws ChecksumMismatch when the bytes are not the ones asked for, ArchiveRefused
 * when they are and break the rules. What was written by then is for the caller to remove.
 */
export async function unpackArchive(
  options: UnpackOptions,
): Promise<ArchiveSummary & { packedBytes: number }> {
  const hash = createHash("sha256");
  const gunzip = createStrictGunzip();
  const writer = createTreeWriter(options.directory, options.style, options.onWritten);
  const unpacked = unpackStream(gunzip, options, writer);
  let packedBytes = 0;
  try {
    const failures: { error: unknown; atBytes: number }[] = [];
    unpacked.catch((error: unknown) => failures.push({ error, atBytes: packedBytes }));
    // While some pieces are unpacked in their own thread, the next is read and hashed.
    const feeding: Promise<void>[] = [];
    for await (const piece of inPieces(options.source, ringOfPieces(piecesAhead + 2))) {
      hash.update(piece);
      if (feeding.length === piecesAhead) await feeding.shift();
      packedBytes += piece.length;
      options.onProgress?.(packedBytes);
      const [failed] = failures;
      if (failed === undefined) feeding.push(feed(gunzip, piece));
      // Of a full disk the rest of the archive tells nothing.
      else if (!(failed.error instanceof ArchiveRefused)) throw failed.error;
      else if (packedBytes - failed.atBytes > readOnBytes) throw new UnverifiedArchive(failed.error);
    }
    await Promise.all(feeding);
    gunzip.end();
    return { ...(await resultOf(unpacked, hash, options.sha256)), packedBytes };
  } finally {
    gunzip.destroy();
    await unpacked.catch(() => undefined);
    await writer.abandon();
  }
}

async function unpackStream(
  gunzip: Gunzip,
  { rules, packedTotal }: UnpackOptions,
  writer: TreeWriter,
): Promise<ArchiveSummary> {
  const reader = createArchiveReader(rules, writer, packedTotal);
  const chunks = createChunksInUse();
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      reader.write(chunk, gunzip.bytesWritten);
      await chunks.add(chunk, writer.flush());
    }
    await chunks.drain();
    const summary = reader.finish();
    await writer.finish();
    return summary;
  } catch (error) {
    throw toArchiveRefused(error);
  }
}

/**
 * Resolves when the stream has done with the piece; a stream that has failed takes no more, and its reader
 * knows why.
 */
async function feed(gunzip: Gunzip, piece: Buffer): Promise<void> {
  if (gunzip.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      gunzip.off("close", done);
      resolve();
    };
    gunzip.on("close", done);
    gunzip.write(piece, done);
  });
}

/**
 * Returns the summary of a whole archive. Throws ChecksumMismatch when its bytes are others, which may also
 * be why it breaks rules.
 */
async function resultOf(
  unpacked: Promise<ArchiveSummary>,
  hash: Hash,
  expected: string,
): Promise<ArchiveSummary> {
  const [result] = await Promise.allSettled([unpacked]);
  const actual = hash.digest("hex");
  if (result.status === "fulfilled") {
    if (actual !== expected) throw new ChecksumMismatch(expected, actual);
    return result.value;
  }
  const breaksRules = result.reason instanceof ArchiveRefused;
  if (breaksRules && actual !== expected) throw new ChecksumMismatch(expected, actual, result.reason);
  throw result.reason;
}

/** Yields the same bytes in pieces of 1 MiB, each in memory that `nextBuffer` returns for it. */
async function* inPieces(
  source: AsyncIterable<Buffer>,
  nextBuffer: () => Buffer,
): AsyncGenerator<Buffer, void, void> {
  let piece: Buffer | undefined;
  let filled = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      piece ??= nextBuffer();
      const taken = rest.copy(piece, filled);
      filled += taken;
      rest = rest.subarray(taken);
      if (filled < chunkBytes) break;
      yield piece;
      piece = undefined;
      filled = 0;
    }
  }
  if (piece !== undefined) yield piece.subarray(0, filled);
}

/**
 * Returns the memory of so many pieces in turn, for `inPieces` to use again: a piece is overwritten when
 * `buffers` more were asked for.
 */
export function ringOfPieces(buffers: number): () => Buffer {
  const ring = Array.from({ length: buffers }, () => Buffer.allocUnsafeSlow(chunkBytes));
  return () => {
    const next = ring.shift() ?? Buffer.allocUnsafeSlow(chunkBytes);
    ring.push(next);
    return next;
  };
}

/**
 * The unpacked chunks that are being written, oldest first; each one's memory is released when it is written.
 */
interface ChunksInUse {
  /** Resolves when there is room for another; rejects when a write failed. */
  add(chunk: Buffer, writing: Promise<void>): Promise<void>;
  /** Resolves when all are written; rejects when a write failed. */
  drain(): Promise<void>;
}

/** Up to 16 MiB may wait for the disk, so that reading need not take turns with it. */
const maxChunks = 16;

/** Returns a list without any chunk. */
export function createChunksInUse(): ChunksInUse {
  const inUse: { chunk: Buffer; writing: Promise<void> }[] = [];

  async function finishOldest(): Promise<void> {
    const oldest = inUse.shift();
    if (oldest === undefined) return;
    await oldest.writing;
    // The gunzip may go on filling a piece of memory after it handed out its start. Only a chunk in another
    // piece shows that it is done with this one.
    if (inUse.every(({ chunk }) => chunk.buffer !== oldest.chunk.buffer)) releaseMemory(oldest.chunk.buffer);
  }

  return {
    async add(chunk, writing) {
      // The next to wait gets the failure; until then it must not count as unhandled.
      writing.catch(() => undefined);
      inUse.push({ chunk, writing });
      while (inUse.length >= maxChunks) await finishOldest();
    },
    async drain() {
      while (inUse.length > 0) await finishOldest();
    },
  };
}
