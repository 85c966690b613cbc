import { watch, type FSWatcher } from "node:fs";
import type { Logger } from "#runtime/logger.ts";
import type { Source } from "#kube/cache/source.ts";

/**
 * Tells of what packers put into their folders. What it misses is found by the next look, which comes anyway.
 */
export interface SpoolWatcher extends Source {
  /** Follows a session's packed folder until it is left; following it again is harmless. */
  follow(key: string, packedFolder: string): void;
  leave(key: string): void;
  close(): void;
}

/** Returns a watcher that follows nothing yet. All folders share one inotify instance. */
export function createSpoolWatcher(logger: Logger): SpoolWatcher {
  const watchers = new Map<string, FSWatcher>();
  const listeners = new Set<(key: string) => void>();

  function leave(key: string): void {
    watchers.get(key)?.close();
    watchers.delete(key);
  }

  return {
    waitForSync: () => Promise.resolve(),
    keys: () => [],
    subscribe(enqueue) {
      listeners.add(enqueue);
      return () => listeners.delete(enqueue);
    },
    follow(key, packedFolder) {
      if (watchers.has(key)) return;
      try {
        // Only files that were renamed into place are finished; their names say so.
        const watcher = watch(packedFolder, { persistent: false }, (_event, name) => {
          if (name?.endsWith(".json") === true) for (const enqueue of listeners) enqueue(key);
        });
        watcher.on("error", () => leave(key));
        watchers.set(key, watcher);
      } catch (error) {
        logger.debug(
          { err: error, gameSession: key },
          "A packer's folder cannot be watched; it is looked at now and then.",
        );
      }
    },
    leave,
    close() {
      for (const key of [...watchers.keys()]) leave(key);
    },
  };
}
