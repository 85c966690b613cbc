/** Hashing and unpacking by the megabyte is twice as fast as by what one read of a socket gives. */
const pieceBytes = 1024 * 1024;

/** The same bytes in pieces of 1 MiB. */
export async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let piece = Buffer.allocUnsafeSlow(pieceBytes);
  let filled = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = rest.copy(piece, filled);
      filled += taken;
      rest = rest.subarray(taken);
      if (filled < pieceBytes) break;
      yield piece;
      // The consumer may still be reading the last one.
      piece = Buffer.allocUnsafeSlow(pieceBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}
