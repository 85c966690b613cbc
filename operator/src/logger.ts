import { pino } from "pino";
import type { Logger } from "#runtime/logger.ts";

/** JSON lines on standard output. */
export function createLogger({ level }: { level: string }): Logger {
  return pino({ level, base: { program: "operator" }, timestamp: pino.stdTimeFunctions.isoTime });
}
