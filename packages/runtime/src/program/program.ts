import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Logger } from "../logger.ts";
import { messageOf } from "../errors.ts";

/** The life cycle of a program. */
export interface ProgramOptions {
  logger: Logger;
  /** Resolves when the program is running. The signal is aborted if it must stop before that. */
  start: (stopping: AbortSignal) => Promise<void>;
  /** Resolves when everything has stopped. Called once, possibly during the start. */
  stop: () => Promise<void>;
  /** Time limit of a graceful stop. Shorter than the pod's grace period, so that the end is logged. */
  stopDeadlineMs: number;
}

/** Returns the result of `read`. If it throws, prints the message to stderr and exits with 1. */
export function orExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  }
}

/** Runs a program until SIGTERM or SIGINT. Exits with 0 after a graceful stop and with 1 otherwise. */
export function runProgram({ logger, start, stop, stopDeadlineMs }: ProgramOptions): void {
  const stopping = new AbortController();
  const fail =
    (sentence: string) =>
    (error?: unknown): void => {
      logger.error({ err: error }, sentence);
      process.exit(1);
    };
  onUnhandledError(fail("The program exits because of an unhandled error."));
  onStopSignal((signal) => {
    if (stopping.signal.aborted) return;
    logger.info({ signal }, "The program is stopping.");
    stopping.abort(new Error(`The program received ${signal}.`));
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
    }, fail("The program could not stop gracefully."));
  });
  start(stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) fail("The program could not start.")(error);
  });
}

/** Calls `listener` on SIGTERM and SIGINT instead of ending the process. */
export function onStopSignal(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, listener);
}

/** Calls `listener` with uncaught exceptions and unhandled rejections. */
export function onUnhandledError(listener: (error: unknown) => void): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, listener);
}

/** Linux lists the threads of the process here. Each has its own priority. */
const tasks = "/proc/self/task";
const lower = 10;

/**
 * Lowers the priority of V8's helper threads, which compile and collect garbage: on few CPUs, one of their
 * time slices delays all requests by milliseconds. Call it at the start, while no thread ends. Has no effect
 * outside Linux.
 */
export function lowerHelperThreads(): void {
  if (!existsSync(tasks)) return;
  for (const thread of readdirSync(tasks)) {
    if (readFileSync(`${tasks}/${thread}/comm`, "utf8").startsWith("V8Worker"))
      setPriority(Number(thread), lower);
  }
}
