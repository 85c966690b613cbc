import { format } from "node:util";
import { pino } from "pino";
import type { Logger } from "../logger.ts";

/** What a program's log is told. */
export interface LoggerOptions {
  /** In each line. */
  program: string;
  level: string;
  /** Further keys of each line. */
  bindings?: Record<string, string>;
  /** Keys whose values are never written, besides those that no program writes. */
  secretKeys?: readonly string[];
  /** Standard output unless given. */
  destination?: { write(line: string): void };
}

/** Keys whose values no program ever writes, wherever they turn up. */
const secretKeysOfAll = ["password", "csrfToken", "token", "secret", "authorization", "cookie"];

/**
 * Returns a logger of JSON lines: the level as a word, a time, the program, keys, and a constant sentence as
 * `msg`.
 */
export function createLogger({
  program,
  level,
  bindings,
  secretKeys = [],
  destination,
}: LoggerOptions): Logger {
  const secrets = [...secretKeysOfAll, ...secretKeys].flatMap((name) => [name, `*.${name}`]);
  const options = {
    level,
    base: { program, ...bindings },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    redact: { paths: [...secrets, "headers"], censor: "[redacted]" },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Returns an error as the log shows it. What libraries hang on theirs besides (rows, commands, requests) may
 * be anybody's data; what it was caused by says more than a stack alone.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: typeof error === "string" ? error : "no Error" };
  const { name, message, stack, cause } = error;
  return {
    type: name,
    message,
    stack,
    ...("code" in error && { errorCode: String(error.code) }),
    ...(cause !== undefined && depth < causesShown && { cause: describeError(cause, depth + 1) }),
  };
}

const causesShown = 4;

/**
 * Turns what libraries and Node itself write into lines of the log: all that the program writes can be read
 * as JSON.
 */
export function logConsole(logger: Logger): void {
  const said = (...words: unknown[]): void =>
    logger.warn({ said: format(...words) }, "Something was written past the log.");
  Object.assign(console, { log: said, info: said, debug: said, warn: said, error: said });
  process
    .removeAllListeners("warning")
    .on("warning", (warning) => logger.warn({ err: warning }, "Node.js emitted a warning."));
}
