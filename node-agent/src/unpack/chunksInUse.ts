import { releaseMemory } from "#runtime/releaseMemory.ts";

/**
 * The unpacked chunks that are being written, oldest first; each one's memory is released when it is written.
 */
export interface ChunksInUse {
  /** Resolves when there is room for another; rejects when a write failed. */
  add(chunk: Buffer, writing: Promise<void>): Promise<void>;
  /** Resolves when all are written; rejects when a write failed. */
  drain(): Promise<void>;
}

/** Up to 16 MiB may wait for the disk, so that reading need not take turns with it. */
const maxChunks = 16;

/** Returns a list without any chunk. */
export function createChunksInUse(): ChunksInUse {
  const inUse: { chunk: Buffer; writing: Promise<void> }[] = [];

  async function finishOldest(): Promise<void> {
    const oldest = inUse.shift();
    if (oldest === undefined) return;
    await oldest.writing;
    // The gunzip may go on filling a piece of memory after it handed out its start. Only a chunk in another
    // piece shows that it is done with this one.
    if (inUse.every(({ chunk }) => chunk.buffer !== oldest.chunk.buffer)) releaseMemory(oldest.chunk.buffer);
  }

  return {
    async add(chunk, writing) {
      // The next to wait gets the failure; until then it must not count as unhandled.
      writing.catch(() => undefined);
      inUse.push({ chunk, writing });
      while (inUse.length >= maxChunks) await finishOldest();
    },
    async drain() {
      while (inUse.length > 0) await finishOldest();
    },
  };
}
