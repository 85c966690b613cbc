import { rmSync } from "node:fs";
import type { Logger } from "#runtime/logger.ts";

/**
 * Removes what an earlier run of this container left at a socket's path, whatever it is. Logs what cannot be
 * removed: the server then says why it does not start.
 */
export function removeStale(path: string, log: Logger): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    log.warn({ err: error, path }, "The file at a socket's path cannot be removed.");
  }
}
