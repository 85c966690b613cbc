import { pino, type Logger } from "pino";

export type { Logger };

/** Returns a logger of JSON lines on standard output: a constant sentence and keys. */
export function createLogger(): Logger {
  return pino({ base: { program: "packer" }, timestamp: pino.stdTimeFunctions.isoTime });
}
