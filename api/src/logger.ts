import { pino } from "pino";
import type { Logger } from "#kube/logger.ts";

export type { Logger } from "#kube/logger.ts";

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
    redact: { paths: [...secrets, "headers"], censor: "[redacted]" },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
