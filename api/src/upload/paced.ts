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
  const watch = watchOver(pace.idleMs, signal);
  let waitedMs = 0;
  let bytes = 0;
  try {
    for (;;) {
      const askedMs = performance.now();
      const piece = await watch.next(pieces);
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
    watch.close();
    // Not awaited: a source that hangs would hang its own return as well.
    void Promise.resolve(pieces.return?.()).catch(() => undefined);
  }
}

/** One timer and one listener for all the thousands of pieces of a body, which costs a tenth of one for each. */
function watchOver(idleMs: number, signal: AbortSignal): { next(pieces: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>>; close(): void } {
  let interrupt: ((reason: unknown) => void) | undefined;
  const timer = setTimeout(() => interrupt?.(new TooSlow("The upload fell silent; try again.")), idleMs);
  const onAbort = (): void => interrupt?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    async next(pieces) {
      signal.throwIfAborted();
      timer.refresh();
      try {
        return await new Promise((resolve, reject) => {
          interrupt = reject;
          pieces.next().then(resolve, reject);
        });
      } finally {
        interrupt = undefined;
      }
    },
    close() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}
