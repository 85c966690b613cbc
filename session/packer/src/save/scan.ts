import { createHash } from "node:crypto";
import { createSkippedEntries, type SkippedEntries, walkSave } from "./walk.ts";
import { createSaveQuota } from "./saveQuota.ts";

/** The result of a scan of a save directory, which opens no file. */
export interface SaveScan {
  /**
   * Hash of names, sizes, times and modes, and of what is skipped: equal means unchanged, except for a file
   * that is mapped into memory and written there.
   */
  signature: string;
  /** The same of each file and directory, by its path. */
  states: ReadonlyMap<string, string>;
  /** Size of the files, in whole pages. */
  bytes: number;
}

/** Scans a save directory. Throws SaveError. */
export function scanSave(directory: string): SaveScan {
  const states = new Map<string, string>();
  const quota = createSaveQuota();
  const skipped = createSkippedEntries();
  for (const { path, stat } of walkSave(directory, { quota, skipped })) {
    if (stat.isDirectory()) {
      // A directory's own time adds nothing to the names in it.
      states.set(`${path}/`, "");
      continue;
    }
    quota.addFile(Number(stat.size));
    // Programs can set a file's mtime to anything, but not its ctime; the number of blocks shows writes
    // through a mapping, which change neither.
    states.set(path, `${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.blocks}`);
  }
  return { signature: signatureOf(states, skipped), states, bytes: quota.bytes() };
}

/** Returns how many files and directories are not the same in two scans of one directory. */
export function countChanged(before: SaveScan, after: SaveScan): number {
  const paths = new Set([...before.states.keys(), ...after.states.keys()]);
  return [...paths].filter((path) => before.states.get(path) !== after.states.get(path)).length;
}

function signatureOf(states: ReadonlyMap<string, string>, skipped: SkippedEntries): string {
  const hash = createHash("sha256");
  for (const [path, state] of states) hash.update(`${path}\0${state}\0`);
  return hash.update(JSON.stringify(skipped.summary() ?? null)).digest("hex");
}
