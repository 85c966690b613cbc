import { fstatSync, readSync, type BigIntStats } from "node:fs";

const pieceBytes = 1024 * 1024;

/** Reads a file that may change meanwhile. */
export interface WholeFile {
  /** Exactly as many bytes as the file had when it was opened: no more when it grew, zeros when it shrank. */
  pieces: Generator<Buffer, void, void>;
  /** Whether it stayed as it was while it was read; ask after the last piece. */
  isStable(): boolean;
}

/** Returns a reader of an open file whose state is known from its handle. */
export function readWhole(file: number, before: BigIntStats): WholeFile {
  let isCut = false;

  function* pieces(): Generator<Buffer, void, void> {
    const size = Number(before.size);
    for (let position = 0; position < size; position += pieceBytes) {
      const piece = Buffer.alloc(Math.min(pieceBytes, size - position));
      if (!isCut && fill(file, piece, position) < piece.length) isCut = true;
      yield piece;
    }
  }

  return {
    pieces: pieces(),
    isStable() {
      const after = fstatSync(file, { bigint: true });
      return !isCut && after.size === before.size && after.mtimeNs === before.mtimeNs && after.ctimeNs === before.ctimeNs;
    },
  };
}

/** Reads into the buffer and returns how much there was. */
function fill(file: number, buffer: Buffer, position: number): number {
  let filled = 0;
  while (filled < buffer.length) {
    const read = tryRead(file, buffer, filled, position + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}

/** What cannot be read is not there: its header is written already. */
function tryRead(file: number, buffer: Buffer, offset: number, position: number): number {
  try {
    return readSync(file, buffer, offset, buffer.length - offset, position);
  } catch {
    return 0;
  }
}
