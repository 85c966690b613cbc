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

/** Options of unpackArchive. */
interface UnpackOptions {
  /** The packed bytes. */
  source: AsyncIterable<Buffer>;
  /** Number of packed bytes, if known. */
  packedTotal?: number | undefined;
  sha256: string;
  /** An existing, empty directory that only this call uses. */
  directory: string;
  rules: ArchiveRules;
  style: TreeStyle;
  /** Called with the number of packed bytes read so far. */
  onProgress?: ((packedBytes: number) => void) | undefined;
  /** Called with the size of each piece that has been unpacked and written. */
  onWritten?: ((bytes: number) => void) | undefined;
}

/** Pieces in flight through gunzip, so that on a busy machine it need not wait for the reader's turn. */
const piecesAhead = 4;

/** The archive violates the rules and is too long for its digest to be verified. */
export class UnverifiedArchive extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = "UnverifiedArchive";
  }
}

/**
 * A refused archive is still read to its end if no more than this is left, to find out whether it was only
 * damaged in transit.
 */
const readOnBytes = 256 * 1024 * 1024;

/**
 * Unpacks a tar.gz while hashing it, in one pass. Returns the summary once the digest is verified and
 * everything is on disk. The caller removes partial output.
 *
 * @throws ChecksumMismatch if the bytes are not the expected ones, ArchiveRefused if they are but violate the
 *   rules
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
    // While some pieces are unpacked in a separate thread, the next one is read and hashed.
    const feeding: Promise<void>[] = [];
    for await (const piece of inPieces(options.source, ringOfPieces(piecesAhead + 2))) {
      hash.update(piece);
      if (feeding.length === piecesAhead) await feeding.shift();
      packedBytes += piece.length;
      options.onProgress?.(packedBytes);
      const [failed] = failures;
      if (failed === undefined) feeding.push(feed(gunzip, piece));
      // On a full disk, the rest of the archive provides no information.
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
 * Resolves when the stream is done with the piece. A failed stream accepts no more, and its reader reports
 * the reason.
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
 * Returns the summary of a complete archive. Throws ChecksumMismatch if its bytes are not the expected ones,
 * which may also be why it violates the rules.
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

/** Yields the same bytes in pieces of 1 MiB, each in memory returned by `nextBuffer`. */
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
 * Returns a function that hands out the memory of `buffers` pieces in turn for `inPieces`. A piece is
 * overwritten after `buffers` more were requested.
 */
export function ringOfPieces(buffers: number): () => Buffer {
  const ring = Array.from({ length: buffers }, () => Buffer.allocUnsafeSlow(chunkBytes));
  return () => {
    const next = ring.shift() ?? Buffer.allocUnsafeSlow(chunkBytes);
    ring.push(next);
    return next;
  };
}

/** The unpacked chunks being written, oldest first. Each chunk's memory is released once it is written. */
interface ChunksInUse {
  /** Resolves when there is room for another. Rejects if a write failed. */
  add(chunk: Buffer, writing: Promise<void>): Promise<void>;
  /** Resolves when all are written. Rejects if a write failed. */
  drain(): Promise<void>;
}

/** Up to 16 MiB may wait for the disk, so that reading and writing overlap. */
const maxChunks = 16;

/** Returns an empty list. */
export function createChunksInUse(): ChunksInUse {
  const inUse: { chunk: Buffer; writing: Promise<void> }[] = [];

  async function finishOldest(): Promise<void> {
    const oldest = inUse.shift();
    if (oldest === undefined) return;
    await oldest.writing;
    // The gunzip may keep filling a piece of memory after it returned the start of it. Only a chunk in
    // another piece shows that it is done with this one.
    if (inUse.every(({ chunk }) => chunk.buffer !== oldest.chunk.buffer)) releaseMemory(oldest.chunk.buffer);
  }

  return {
    async add(chunk, writing) {
      // The next call that waits receives the failure. Until then it must not count as unhandled.
      writing.catch(() => undefined);
      inUse.push({ chunk, writing });
      while (inUse.length >= maxChunks) await finishOldest();
    },
    async drain() {
      while (inUse.length > 0) await finishOldest();
    },
  };
}
