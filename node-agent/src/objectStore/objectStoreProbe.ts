import { sleepUntilAborted, systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import type { Logger } from "#runtime/logger.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import type { ObjectStore } from "./objectStore.ts";
import { messageOf } from "#runtime/errors.ts";

/** Dependencies of ObjectStoreProbe. */
export interface ObjectStoreProbeOptions {
  objectStore: ObjectStore;
  bucket: string;
  clock: Clock;
  logger: Logger;
  /**
   * Called when the object store becomes reachable or unreachable, or the reason why it is unreachable
   * changes.
   */
  onChange: () => void;
}

/** Whether the object store responded to the last probe, with a message. */
export interface ObjectStoreState {
  isReachable: boolean;
  message: string;
}

const intervalMs = 10_000;
const deadlineMs = 5_000;

/** Probes the object store periodically. */
export class ObjectStoreProbe {
  readonly #options: ObjectStoreProbeOptions;
  readonly #stopping = new AbortController();
  #state: ObjectStoreState = { isReachable: false, message: "The object store has not been checked yet." };
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
    do await this.#look();
    while (await sleepUntilAborted(this.#options.clock, intervalMs, this.#stopping.signal));
  }

  async #look(): Promise<void> {
    const { objectStore, bucket, logger, onChange } = this.#options;
    const before = this.#state;
    try {
      await withDeadline(
        {
          clock: systemClock,
          ms: deadlineMs,
          what: "The object store's response",
          signal: this.#stopping.signal,
        },
        (signal) => objectStore.probe(bucket, signal),
      );
      this.#state = { isReachable: true, message: "The object store is reachable." };
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const message = objectStoreSentence(error) ?? messageOf(error);
      this.#state = { isReachable: false, message };
      if (message !== before.message)
        logger.warn({ err: error, reason: message }, "The object store cannot be used.");
    }
    if (before.isReachable !== this.#state.isReachable || before.message !== this.#state.message) onChange();
  }
}
