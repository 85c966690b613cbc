/** Hashing and unpacking by the megabyte is twice as fast as by what one read of a socket gives. */
const pieceBytes = 1024 * 1024;

/** The same bytes in pieces of 1 MiB, in memory that is used again: a piece is overwritten when `buffers` more were asked for. */
export async function* inPieces(source: AsyncIterable<Buffer>, buffers: number): AsyncGenerator<Buffer, void, void> {
  const ring = Array.from({ length: buffers }, () => Buffer.allocUnsafeSlow(pieceBytes));
  let filled = 0;
  let piece = nextOf(ring);
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = rest.copy(piece, filled);
      filled += taken;
      rest = rest.subarray(taken);
      if (filled < pieceBytes) break;
      yield piece;
      piece = nextOf(ring);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

/** The buffer that was used longest ago. */
function nextOf(ring: Buffer[]): Buffer {
  const next = ring.shift() ?? Buffer.allocUnsafeSlow(pieceBytes);
  ring.push(next);
  return next;
}
