import type { FileHandle } from "node:fs/promises";

/** Writes files through to the disk beside other work, and closes them. */
export interface Syncer {
  /** Takes the file over; resolves when there is room for another. */
  add(handle: FileHandle): Promise<void>;
  /** Resolves when all are done; rejects when one failed. */
  drain(): Promise<void>;
}

/** Two of libuv's four threads, so that the others go on unpacking; all of them when nothing else is left to do. */
const atOnceBeside = 2;
const atOnceAlone = 4;
const maxWaiting = 64;

export function createSyncer(): Syncer {
  const waiting: FileHandle[] = [];
  const running = new Set<Promise<void>>();
  let atOnce = atOnceBeside;
  let failure: { error: unknown } | undefined;

  function pump(): void {
    while (running.size < atOnce) {
      const handle = waiting.shift();
      if (handle === undefined) return;
      const work = syncAndClose(handle).catch((error: unknown) => {
        failure ??= { error };
      }).finally(() => {
        running.delete(work);
        pump();
      });
      running.add(work);
    }
  }

  return {
    async add(handle) {
      waiting.push(handle);
      pump();
      while (waiting.length >= maxWaiting && running.size > 0) await Promise.race(running);
    },
    async drain() {
      atOnce = atOnceAlone;
      pump();
      while (running.size > 0) await Promise.race(running);
      if (failure !== undefined) throw failure.error;
    },
  };
}

async function syncAndClose(handle: FileHandle): Promise<void> {
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
