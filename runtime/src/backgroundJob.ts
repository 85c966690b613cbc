import { slept, type Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";

/** Work that no request asks for. */
export interface BackgroundJob {
  start(): void | Promise<void>;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** What is repeated, and how often. */
export interface RepeatedJobOptions {
  name: string;
  periodMs: number;
  clock: Clock;
  logger: Logger;
  work: (signal: AbortSignal) => Promise<unknown>;
}

/** Does `work` over and over, a period apart with a little jitter; a failure is logged and tried again next time. */
export class RepeatedJob implements BackgroundJob {
  readonly #options: RepeatedJobOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: RepeatedJobOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, periodMs, clock, logger, work } = this.#options;
    const { signal } = this.#stopping;
    do {
      try {
        await work(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, job: name }, "A background job failed; it is tried again.");
      }
    } while (await slept(clock, periodMs * (0.9 + Math.random() * 0.2), signal));
  }
}
