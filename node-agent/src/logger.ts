import { pino } from "pino";
import type { Logger } from "#runtime/logger.ts";

/** JSON lines on standard output, with the node's name in each. */
export function createLogger({ level, node }: { level: string; node: string }): Logger {
  return pino({ level, base: { program: "node-agent", node }, timestamp: pino.stdTimeFunctions.isoTime });
}
