import { pino, type Logger } from "pino";

export type { Logger };

/** JSON lines on standard output: a constant sentence and keys. */
export function createLogger(level: string): Logger {
  return pino({ level, base: { program: "streamer" }, timestamp: pino.stdTimeFunctions.isoTime });
}
