import { createHash } from "node:crypto";
import { createLeftOut } from "./skippedEntries.ts";
import { createTally } from "./saveSize.ts";
import { walkSave } from "./walk.ts";

/** What a look at a save directory finds without opening a file. */
export interface SaveLook {
  /** Of names, sizes, times and modes, and of what is left out: equal means unchanged, but for a file that is mapped into memory and written there. */
  signature: string;
  /** In whole pages. */
  bytes: number;
}

/** Looks at a save directory. Throws Refusal. */
export function lookAtSave(directory: string): SaveLook {
  const hash = createHash("sha256");
  const tally = createTally();
  const leftOut = createLeftOut();
  for (const { path, stat } of walkSave(directory, { tally, leftOut })) {
    if (stat.isDirectory()) {
      // A directory's own time says no more than the names in it do.
      hash.update(`${path}/\0`);
      continue;
    }
    tally.addFile(Number(stat.size));
    // Programs can set a file's mtime as they like, but not its ctime; blocks tell of writes through a mapping, which touch neither.
    hash.update(`${path}\0${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.blocks}\0`);
  }
  hash.update(JSON.stringify(leftOut.summary() ?? null));
  return { signature: hash.digest("hex"), bytes: tally.bytes() };
}
