import { createHash } from "node:crypto";
import { createSkippedEntries } from "./skippedEntries.ts";
import { createSaveQuota } from "./saveQuota.ts";
import { walkSave } from "./walk.ts";

/** The result of a scan of a save directory, which opens no file. */
export interface SaveScan {
  /** Hash of names, sizes, times and modes, and of what is skipped: equal means unchanged, except for a file that is mapped into memory and written there. */
  signature: string;
  /** Size of the files, in whole pages. */
  bytes: number;
}

/** Scans a save directory. Throws SaveError. */
export function scanSave(directory: string): SaveScan {
  const hash = createHash("sha256");
  const quota = createSaveQuota();
  const skipped = createSkippedEntries();
  for (const { path, stat } of walkSave(directory, { quota, skipped })) {
    if (stat.isDirectory()) {
      // A directory's own time adds nothing to the names in it.
      hash.update(`${path}/\0`);
      continue;
    }
    quota.addFile(Number(stat.size));
    // Programs can set a file's mtime to anything, but not its ctime; the number of blocks shows writes through a mapping, which change neither.
    hash.update(`${path}\0${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.blocks}\0`);
  }
  hash.update(JSON.stringify(skipped.summary() ?? null));
  return { signature: hash.digest("hex"), bytes: quota.bytes() };
}
