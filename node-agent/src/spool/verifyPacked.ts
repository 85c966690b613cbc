import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { ArchiveRefused, saveArchiveRules } from "#archive/archiveRules.ts";
import { createStrictGunzip, toArchiveRefused, chunkBytes } from "#archive/gunzip.ts";
import { limits } from "#contracts/limits.ts";
import type { PackedSave } from "#contracts/spool.ts";
import { ringOfPieces } from "../unpack/unpack.ts";
import { releaseMemory } from "#runtime/releaseMemory.ts";
import { openSpoolFile, SpoolUnreadable } from "./readSpool.ts";

/** A pack whose bytes were verified to be restorable. */
export interface VerifiedPack {
  sizeBytes: number;
  /** Base64, for the object store to check that it receives the verified bytes. */
  md5: string;
  /** Returns the verified bytes from the start, without bytes appended since. */
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Reads the whole pack as a restore would and compares it with its manifest, so that every stored pack can be
 * restored. Returns undefined if the pack does not exist: a newer one has replaced it, or it is lost.
 *
 * @throws SpoolUnreadable
 */
export async function verifyPacked(
  path: string,
  save: PackedSave,
  signal: AbortSignal,
): Promise<VerifiedPack | undefined> {
  const file = await openSpoolFile(path);
  if (file === undefined) return undefined;
  // The owner of the folder can keep writing to the file. An empty pack is invalid, which reading it detects.
  const read = (): Readable => file.createReadStream({ start: 0, end: save.bytes - 1, autoClose: false });
  try {
    const stat = await file.stat();
    const isAsSaid = stat.isFile() && stat.size === save.bytes && stat.size <= limits.save.packedBytes;
    if (!isAsSaid) throw new SpoolUnreadable(`${path} is not a file of ${save.bytes} bytes`);
    const { sha256, md5 } = await readWhole(file, signal);
    if (sha256 !== save.sha256)
      throw new SpoolUnreadable(`${path} does not match the SHA-256 in its manifest`);
    return { sizeBytes: save.bytes, md5, read, close: () => file.close() };
  } catch (error) {
    await file.close();
    signal.throwIfAborted();
    const cause = toArchiveRefused(error);
    if (cause instanceof ArchiveRefused) throw new SpoolUnreadable(`${path}: ${cause.message}`, error);
    throw error;
  }
}

/**
 * Returns the digests of all bytes. A pack may be a gigabyte, so its pieces are read into the same memory,
 * and the memory of unpacked data is released immediately.
 */
async function readWhole(file: FileHandle, signal: AbortSignal): Promise<{ sha256: string; md5: string }> {
  const [sha256, md5] = [createHash("sha256"), createHash("md5")];
  const gunzip = createStrictGunzip();
  const reader = createArchiveReader(saveArchiveRules);
  await pipeline(
    piecesOf(file, [sha256, md5]),
    gunzip,
    async (chunks: AsyncIterable<Buffer>) => {
      let last: Buffer | undefined;
      for await (const chunk of chunks) {
        reader.write(chunk, gunzip.bytesWritten);
        // The gunzip may keep filling a piece of memory after it returned the start of it. Only a chunk in
        // another piece shows that it is done with this one.
        if (last !== undefined && last.buffer !== chunk.buffer) releaseMemory(last.buffer);
        last = chunk;
      }
    },
    { signal },
  );
  reader.finish();
  return { sha256: sha256.digest("hex"), md5: md5.digest("base64") };
}

/** A gunzip takes the next piece when it is done with the previous one. The others are spare. */
const piecesInUse = 4;

async function* piecesOf(file: FileHandle, hashes: readonly Hash[]): AsyncGenerator<Buffer> {
  const nextBuffer = ringOfPieces(piecesInUse);
  for (let position = 0; ;) {
    const { buffer, bytesRead } = await file.read(nextBuffer(), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    const piece = buffer.subarray(0, bytesRead);
    for (const hash of hashes) hash.update(piece);
    position += bytesRead;
    yield piece;
  }
}
