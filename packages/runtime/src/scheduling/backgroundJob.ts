import { jittered } from "./backOff.ts";
import { sleepUntilAborted, type Clock } from "./clock.ts";
import type { Logger } from "../logger.ts";

/** Work outside of requests. */
export interface BackgroundJob {
  start(): void | Promise<void>;
  /** Resolves when the work has stopped. */
  stop(): Promise<void>;
}

/** Options of a repeated job. */
export interface RepeatedJobOptions {
  /** Name for the log. */
  name: string;
  periodMs: number;
  /** Random jitter as a share of the period. Defaults to a tenth. */
  jitter?: number;
  clock: Clock;
  logger: Logger;
  work: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Runs `work` repeatedly with a jittered period until the signal is aborted. Failures are logged and retried
 * in the next period.
 */
export async function repeat(
  { name, periodMs, jitter = 0.1, clock, logger, work }: RepeatedJobOptions,
  signal: AbortSignal,
): Promise<void> {
  do {
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ err: error, job: name }, "A background job failed and will be retried.");
    }
  } while (await sleepUntilAborted(clock, jittered(periodMs, Math.random, jitter), signal));
}

/** Repeats work between start and stop. */
export class RepeatedJob implements BackgroundJob {
  readonly #options: RepeatedJobOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: RepeatedJobOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= repeat(this.#options, this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }
}

/** Repeats `work` until it returns false, at most `max` times. */
export async function repeatUpTo(max: number, work: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < max; count++) {
    if (!(await work())) return;
  }
}
