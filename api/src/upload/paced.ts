/** How slow a sender may be. */
export interface Pace {
  /** Longest silence. */
  idleMs: number;
  /** After each window at least this many bytes must have come in it. */
  windowMs: number;
  minBytesPerWindow: number;
}

/** The sender fell silent or keeps a connection busy with next to nothing. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/**
 * The pieces of `body`; throws TooSlow when they come too slowly, counting only the time spent waiting for the sender, and
 * the signal's reason when it is aborted.
 */
export async function* paced(body: AsyncIterable<Buffer>, pace: Pace, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const pieces = body[Symbol.asyncIterator]();
  let waitedMs = 0;
  let bytes = 0;
  try {
    for (;;) {
      const askedMs = performance.now();
      const piece = await nextPiece(pieces, pace.idleMs, signal);
      if (piece.done === true) return;
      waitedMs += performance.now() - askedMs;
      bytes += piece.value.length;
      if (waitedMs >= pace.windowMs) {
        if (bytes < pace.minBytesPerWindow) throw new TooSlow("The upload is too slow; try again over a faster line.");
        waitedMs = 0;
        bytes = 0;
      }
      yield piece.value;
    }
  } finally {
    // Not awaited: a source that hangs would hang its own return as well.
    void Promise.resolve(pieces.return?.()).catch(() => undefined);
  }
}

async function nextPiece(pieces: AsyncIterator<Buffer>, idleMs: number, signal: AbortSignal): Promise<IteratorResult<Buffer>> {
  signal.throwIfAborted();
  const interrupted = Promise.withResolvers<never>();
  const timer = setTimeout(() => interrupted.reject(new TooSlow("The upload fell silent; try again.")), idleMs);
  const onAbort = (): void => interrupted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([pieces.next(), interrupted.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
