import { pino } from "pino";
import type { Logger } from "#runtime/logger.ts";

export type { Logger } from "#runtime/logger.ts";

/** Keys whose values are never written, wherever they turn up. */
const secrets = [
  "password", "csrfToken", "token", "secret", "key", "authorization", "cookie", "code", "state",
].flatMap((name) => [name, `*.${name}`]);

/** JSON lines on standard output, or wherever `destination` writes. */
export function createLogger({ level, destination }: { level: string; destination?: { write(line: string): void } }): Logger {
  const options = {
    level,
    base: { program: "api" },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: { paths: [...secrets, "headers"], censor: "[redacted]" },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * An error as the log shows it. What libraries hang on theirs besides (rows, commands, requests) may be anybody's data; what
 * it was caused by says more than a stack alone.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: typeof error === "string" ? error : "no Error" };
  const { name, message, stack, cause } = error;
  return {
    type: name, message, stack,
    ...("code" in error && { errorCode: String(error.code) }),
    ...(cause !== undefined && depth < causesShown && { cause: describeError(cause, depth + 1) }),
  };
}

const causesShown = 4;
