import { slept, type Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { BackgroundJob } from "./backgroundJob.ts";

export interface RepeatOptions {
  name: string;
  periodMs: number;
  clock: Clock;
  logger: Logger;
  work: (signal: AbortSignal) => Promise<unknown>;
}

/** Does `work` over and over, a period apart with a little jitter; a failure is logged and tried again next time. */
export function repeat({ name, periodMs, clock, logger, work }: RepeatOptions): BackgroundJob {
  const controller = new AbortController();
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    do {
      try {
        await work(controller.signal);
      } catch (error) {
        if (!controller.signal.aborted) logger.warn({ err: error, job: name }, "A background job failed; it is tried again.");
      }
    } while (await slept(clock, periodMs * (0.9 + Math.random() * 0.2), controller.signal));
  };
  return {
    start: () => {
      running ??= run();
    },
    stop: async () => {
      controller.abort();
      await running;
    },
  };
}
