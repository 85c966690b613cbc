import { quoteEntry } from "#archive/archiveRefused.ts";
import type { PackedSave } from "#contracts/spool.ts";

/** The entries of a save directory that are not packed, as a count and one example. */
export interface SkippedEntries {
  add(path: string, reason: string): void;
  summary(): PackedSave["leftOut"];
}

/** Returns a summary without entries. */
export function createSkippedEntries(): SkippedEntries {
  let count = 0;
  let example = "";
  return {
    add(path, reason) {
      count += 1;
      if (count === 1) example = `${quoteEntry(path)} ${reason}`.slice(0, 1024);
    },
    summary: () => (count === 0 ? undefined : { count, example }),
  };
}
