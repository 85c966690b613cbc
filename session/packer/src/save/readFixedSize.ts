import { fstatSync, readSync, type BigIntStats } from "node:fs";
import { throwSystemLack } from "./systemLack.ts";

const chunkBytes = 1024 * 1024;

/** Reading of a file that may change meanwhile. */
export interface FixedSizeRead {
  /**
   * As many bytes as the file had when it was opened: no more when it has grown, zeros when it has shrunk.
   */
  chunks: Generator<Buffer, void, void>;
  /** Whether the file did not change while it was read; call after the last chunk. */
  isStable(): boolean;
}

/** Starts to read an open file; `before` is its state when it was opened. */
export function readFixedSize(file: number, before: BigIntStats): FixedSizeRead {
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
