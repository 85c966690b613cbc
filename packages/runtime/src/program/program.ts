import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Logger } from "../logger.ts";
import { messageOf } from "../errors.ts";

/** What a program does from its start to its end. */
export interface ProgramOptions {
  logger: Logger;
  /** Resolves when the program does its work. The signal is aborted when it is told to stop before that. */
  start: (stopping: AbortSignal) => Promise<void>;
  /** Resolves when nothing runs any more; called once, also while the program still starts. */
  stop: () => Promise<void>;
  /** Time for an orderly end; shorter than the pod's grace, so that the end is in the log. */
  stopDeadlineMs: number;
}

/**
 * Returns what `read` returns. When it throws, prints the message to stderr and exits with 1.
 */
export function orExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  }
}

/** Runs a program until SIGTERM or SIGINT. Its exit code is 0 after an orderly end, and 1 after any other. */
export function runProgram({ logger, start, stop, stopDeadlineMs }: ProgramOptions): void {
  const stopping = new AbortController();
  const fail =
    (sentence: string) =>
    (error?: unknown): void => {
      logger.error({ err: error }, sentence);
      process.exit(1);
    };
  onUnhandledError(fail("The program ends, for nothing handles this error and its state is unknown."));
  onStopSignal((signal) => {
    if (stopping.signal.aborted) return;
    logger.info({ signal }, "The program stops.");
    stopping.abort(new Error(`The program was told to stop: ${signal}.`));
    setTimeout(
      () =>
        fail("The program could not stop in time.")(
          new Error(`Stopping took longer than ${stopDeadlineMs} ms.`),
        ),
      stopDeadlineMs,
    );
    stop().then(() => {
      logger.info({}, "The program has stopped.");
      process.exit(0);
    }, fail("The program could not stop in good order."));
  });
  start(stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) fail("The program could not start.")(error);
  });
}

/** Calls `listener` at each SIGTERM and SIGINT, which then do not end the process by themselves. */
export function onStopSignal(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, listener);
}

/** Calls `listener` with what was thrown, or rejected, and nothing handled. */
export function onUnhandledError(listener: (error: unknown) => void): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, listener);
}

/** Linux lists threads here, and each has a priority of its own. */
const tasks = "/proc/self/task";
const lower = 10;

/**
 * Lets V8's helpers, which compile and collect, wait for the thread that serves: where processors are few,
 * one turn of theirs holds up all requests for some milliseconds. Called at the start, while no thread ends;
 * does nothing where the system is not Linux.
 */
export function lowerHelperThreads(): void {
  if (!existsSync(tasks)) return;
  for (const thread of readdirSync(tasks)) {
    if (readFileSync(`${tasks}/${thread}/comm`, "utf8").startsWith("V8Worker"))
      setPriority(Number(thread), lower);
  }
}
