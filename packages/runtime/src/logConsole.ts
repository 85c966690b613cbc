import { format } from "node:util";
import type { Logger } from "./logger.ts";

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
