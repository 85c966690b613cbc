import { open, type FileHandle } from "node:fs/promises";
import type { Clock } from "#kube/clock.ts";

/** A file's bytes as they were at one moment, in memory or, when large, in a file of ours. */
export interface StableCopy {
  sizeBytes: number;
  /** False when the game wrote to the file during each try; the bytes are then the last try's. */
  isStable: boolean;
  pieces(): AsyncIterable<Buffer>;
}

const inMemoryBytes = 8 * 1024 * 1024;
const pieceBytes = 1024 * 1024;
const tries = 3;
const pauseMs = 100;

/** Copies a file that may be written to meanwhile; when its size or time moved during the copy it is read again. */
export async function readStable(file: FileHandle, spoolPath: string, clock: Clock, signal: AbortSignal): Promise<StableCopy> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await file.stat({ bigint: true });
    const copy = Number(before.size) <= inMemoryBytes ? await readToMemory(file, Number(before.size)) : await readToSpool(file, Number(before.size), spoolPath);
    const after = await file.stat({ bigint: true });
    const isStable = before.size === after.size && before.mtimeNs === after.mtimeNs && copy.sizeBytes === Number(before.size);
    if (isStable || attempt === tries) return { ...copy, isStable };
    await clock.sleep(pauseMs, signal);
  }
}

async function readToMemory(file: FileHandle, sizeBytes: number): Promise<Omit<StableCopy, "isStable">> {
  const bytes = Buffer.alloc(sizeBytes);
  const filled = await readAt(file, bytes, 0);
  return {
    sizeBytes: filled,
    async *pieces() {
      await Promise.resolve();
      if (filled > 0) yield bytes.subarray(0, filled);
    },
  };
}

async function readToSpool(file: FileHandle, sizeBytes: number, spoolPath: string): Promise<Omit<StableCopy, "isStable">> {
  const spool = await open(spoolPath, "w", 0o600);
  let copied = 0;
  try {
    const piece = Buffer.alloc(pieceBytes);
    while (copied < sizeBytes) {
      const filled = await readAt(file, piece.subarray(0, Math.min(pieceBytes, sizeBytes - copied)), copied);
      if (filled === 0) break;
      await spool.write(piece, 0, filled);
      copied += filled;
    }
  } finally {
    await spool.close();
  }
  return { sizeBytes: copied, pieces: () => readSpool(spoolPath) };
}

async function* readSpool(path: string): AsyncGenerator<Buffer> {
  const spool = await open(path, "r");
  try {
    for await (const chunk of spool.createReadStream({ highWaterMark: pieceBytes, autoClose: false })) yield chunk as Buffer;
  } finally {
    await spool.close();
  }
}

/** Fills the buffer from the position on, less at the file's end. */
async function readAt(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}
