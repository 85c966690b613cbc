import { closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import type { StreamerTermination } from "#contracts/termination.ts";
import type { Logger } from "#runtime/logger.ts";

/**
 * Returns a function that writes a report to where Kubernetes takes a container's termination message from.
 * It logs what goes wrong.
 */
export function createTerminationLog(path: string, log: Logger): (report: StreamerTermination) => void {
  return (report) => {
    try {
      const text = Buffer.from(JSON.stringify(report));
      const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
      try {
        // The file is overwritten first and cut afterwards: a container killed in between still leaves a
        // report.
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
