import { quoteEntry } from "#archive/archiveRefused.ts";
import type { PackedSave } from "#contracts/spool.ts";

/** What of a save directory is not packed: a count and one example, however much it is. */
export interface LeftOut {
  add(path: string, reason: string): void;
  summary(): PackedSave["leftOut"];
}

/** Returns an empty account. */
export function createLeftOut(): LeftOut {
  let count = 0;
  let example = "";
  return {
    add(path, reason) {
      count += 1;
      if (count === 1) example = `${quoteEntry(path)} ${reason}`.slice(0, 1024);
    },
    summary: () => count === 0 ? undefined : { count, example },
  };
}
