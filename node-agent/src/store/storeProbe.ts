import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "./objectStore.ts";

/** Asks the object store at intervals whether it is there. */
export interface StoreProbe {
  state(): { isReachable: boolean; message: string };
  stop(): Promise<void>;
}

const intervalMs = 10_000;
const deadlineMs = 5_000;

export function startStoreProbe({ store, bucket, clock, logger, onChange }: {
  store: ObjectStore; bucket: string; clock: Clock; logger: Logger; onChange: () => void;
}): StoreProbe {
  const stopping = new AbortController();
  let state = { isReachable: false, message: "The object store has not been asked yet." };
  const running = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look();
      await clock.sleep(intervalMs, stopping.signal).catch(() => undefined);
    }
  }

  async function look(): Promise<void> {
    const wasReachable = state.isReachable;
    try {
      await store.probe(bucket, AbortSignal.any([stopping.signal, AbortSignal.timeout(deadlineMs)]));
      state = { isReachable: true, message: "The object store answers." };
    } catch (error) {
      if (stopping.signal.aborted) return;
      state = { isReachable: false, message: error instanceof Error ? error.message : String(error) };
      if (wasReachable) logger.warn({ err: error }, "The object store does not answer.");
    }
    if (wasReachable !== state.isReachable) onChange();
  }

  return {
    state: () => state,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
