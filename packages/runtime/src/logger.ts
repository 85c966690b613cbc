/** One log line: keys first, then a constant sentence. */
export type LogLine = (fields: Record<string, unknown>, sentence: string) => void;

/** What the programs need of a logger; a pino logger satisfies it. */
export interface Logger {
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  error: LogLine;
  /** The program ends because of it. */
  fatal: LogLine;
  /** Whether such lines are written at all, for those that cost something to put together. */
  isLevelEnabled(level: "debug"): boolean;
  /** Returns a logger that adds `bindings` to each line. */
  child(bindings: Record<string, unknown>): Logger;
}

/** A logger that writes nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  isLevelEnabled: () => false,
  child: () => silentLogger,
};
