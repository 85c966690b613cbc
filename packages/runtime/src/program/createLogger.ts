import { format } from "node:util";
import { pino } from "pino";
import type { Logger } from "../logger.ts";

/** Options of a logger. */
export interface LoggerOptions {
  /** Added to each line. */
  program: string;
  level: string;
  /** Additional keys of each line. */
  bindings?: Record<string, string>;
  /** Additional keys whose values are never written. */
  secretKeys?: readonly string[];
  /** Defaults to standard output. */
  destination?: { write(line: string): void };
}

/** Keys whose values are never written, at any depth. */
const secretKeysOfAll = ["password", "csrfToken", "token", "secret", "authorization", "cookie"];

/** Creates a logger of JSON lines with level, time, program, keys, and a constant sentence as `msg`. */
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
 * Serializes an error for the log. Other fields that libraries attach (rows, commands, requests) are left
 * out, because they may contain personal data.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: typeof error === "string" ? error : "not an Error" };
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

/** Redirects the console and Node.js warnings to the log, so that all output is JSON. */
export function logConsole(logger: Logger): void {
  const said = (...words: unknown[]): void =>
    logger.warn({ said: format(...words) }, "Output bypassed the logger.");
  Object.assign(console, { log: said, info: said, debug: said, warn: said, error: said });
  process
    .removeAllListeners("warning")
    .on("warning", (warning) => logger.warn({ err: warning }, "Node.js emitted a warning."));
}
