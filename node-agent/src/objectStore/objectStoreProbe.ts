import { slept, type Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "./objectStore.ts";

/** What the object store's probe is given. */
export interface ObjectStoreProbeOptions {
  objectStore: ObjectStore;
  bucket: string;
  clock: Clock;
  logger: Logger;
  /** Called when the object store became reachable, or was lost. */
  onChange: () => void;
}

/** Whether the object store answered when it was last asked, with a sentence. */
export interface ObjectStoreState {
  isReachable: boolean;
  message: string;
}

const intervalMs = 10_000;
const deadlineMs = 5_000;

/** Asks the object store at intervals whether it is there. */
export class ObjectStoreProbe {
  readonly #options: ObjectStoreProbeOptions;
  readonly #stopping = new AbortController();
  #state: ObjectStoreState = { isReachable: false, message: "The object store has not been asked yet." };
  #running: Promise<void> | undefined;

  constructor(options: ObjectStoreProbeOptions) {
    this.#options = options;
  }

  get state(): ObjectStoreState {
    return this.#state;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    do await this.#look(); while (await slept(this.#options.clock, intervalMs, this.#stopping.signal));
  }

  async #look(): Promise<void> {
    const { objectStore, bucket, logger, onChange } = this.#options;
    const wasReachable = this.#state.isReachable;
    try {
      await objectStore.probe(bucket, AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(deadlineMs)]));
      this.#state = { isReachable: true, message: "The object store answers." };
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#state = { isReachable: false, message: error instanceof Error ? error.message : String(error) };
      if (wasReachable) logger.warn({ err: error }, "The object store does not answer.");
    }
    if (wasReachable !== this.#state.isReachable) onChange();
  }
}
