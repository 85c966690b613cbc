import { jittered } from "./backOff.ts";
import { slept, type Clock } from "./clock.ts";
import type { Logger } from "../logger.ts";

/** Work that no request asks for. */
export interface BackgroundJob {
  start(): void | Promise<void>;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** What is repeated, and how often. */
export interface RepeatedJobOptions {
  /** A few words, for the log. */
  name: string;
  periodMs: number;
  /** By which share of the period the pauses differ at random; a tenth unless given. */
  jitter?: number;
  clock: Clock;
  logger: Logger;
  work: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Does `work` over and over, a period apart with jitter, until the signal is aborted; a failure is logged and
 * tried again next time.
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
        logger.warn({ err: error, job: name }, "A background job failed; it is tried again.");
    }
  } while (await slept(clock, jittered(periodMs, Math.random, jitter), signal));
}

/** Repeats its work from start to stop. */
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

/**
 * Does a piece of work again and again until it says that there is no more of it, and `max` times at most.
 */
export async function repeatUpTo(max: number, work: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < max; count++) {
    if (!(await work())) return;
  }
}
