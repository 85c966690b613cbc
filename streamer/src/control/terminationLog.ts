import { closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import type { StreamerTermination } from "#contracts/termination.ts";
import type { Logger } from "#runtime/logger.ts";

/** Writes accounts where Kubernetes takes a container's termination message from. */
export function createTerminationLog(path: string, log: Logger): (account: StreamerTermination) => void {
  return (account) => {
    try {
      const text = Buffer.from(JSON.stringify(account));
      const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
      try {
        // Overwritten first and cut afterwards: a container killed in between still leaves an account.
        writeSync(file, text, 0, text.length, 0);
        ftruncateSync(file, text.length);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      log.warn({ err: error, path }, "The termination message could not be written.");
    }
  };
}
