/** Writes a log line: keys first, then a constant sentence. */
export type LogLine = (fields: Record<string, unknown>, sentence: string) => void;

/** The logger interface of the programs, which a pino logger implements. */
export interface Logger {
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  error: LogLine;
  /** For errors that end the program. */
  fatal: LogLine;
  /** Returns whether lines of this level are written, for lines that are expensive to build. */
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
