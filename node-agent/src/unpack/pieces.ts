import { chunkBytes } from "#archive/gunzip.ts";

/** Yields the same bytes in pieces of 1 MiB, each in memory that `nextBuffer` returns for it. */
export async function* inPieces(
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
