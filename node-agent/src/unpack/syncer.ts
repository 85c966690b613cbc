import type { FileHandle } from "node:fs/promises";
import PQueue from "p-queue";

/** Writes files through to the disk beside other work, and closes them. */
export interface Syncer {
  /** Takes the file over; resolves when there is room for another. */
  add(handle: FileHandle, bytes: number): Promise<void>;
  /** Resolves when all are done; rejects when one failed. */
  drain(): Promise<void>;
}

/** A round begins with so much, so that the disk is at work long before the last byte is there. */
const roundBytes = 128 * 1024 * 1024;
const roundFiles = 128;
const maxWaiting = 256;
/**
 * Two of libuv's four threads, so that the others go on unpacking; all of them when nothing else is left to
 * do.
 */
const atOnceBeside = 2;
const atOnceAlone = 4;

/**
 * Returns a syncer. It works in rounds: many files at once share one commit of the file system's journal,
 * where each alone would take its own.
 */
export function createSyncer(): Syncer {
  let waiting: FileHandle[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  function startRound(atOnce: number): Promise<void> {
    const handles = waiting;
    waiting = [];
    waitingBytes = 0;
    running = syncAll(handles, atOnce)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  return {
    async add(handle, bytes) {
      waiting.push(handle);
      waitingBytes += bytes;
      if (running === undefined && (waitingBytes >= roundBytes || waiting.length >= roundFiles))
        void startRound(atOnceBeside);
      while (waiting.length >= maxWaiting && running !== undefined) await running;
    },
    async drain() {
      while (running !== undefined || waiting.length > 0) await (running ?? startRound(atOnceAlone));
      if (failure !== undefined) throw failure.error;
    },
  };
}

async function syncAll(handles: FileHandle[], atOnce: number): Promise<void> {
  const queue = new PQueue({ concurrency: atOnce });
  const results = await Promise.allSettled(handles.map((handle) => queue.add(() => syncAndClose(handle))));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function syncAndClose(handle: FileHandle): Promise<void> {
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
