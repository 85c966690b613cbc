import { createHash } from "node:crypto";
import { createSkippedEntries, type SkippedEntries, walkSave } from "./walk.ts";
import { createSaveQuota } from "./saveQuota.ts";

/** Result of a scan of a save directory. A scan opens no files. */
export interface SaveScan {
  /**
   * Hash of names, sizes, times, modes and skipped entries. Equal signatures mean no change, except for
   * writes to a memory-mapped file.
   */
  signature: string;
  /** State of each file and directory by path. */
  states: ReadonlyMap<string, string>;
  /** Size of the files, in whole pages. */
  bytes: number;
}

/**
 * Scans a save directory.
 *
 * @throws SaveError
 */
export function scanSave(directory: string): SaveScan {
  const states = new Map<string, string>();
  const quota = createSaveQuota();
  const skipped = createSkippedEntries();
  for (const { path, stat } of walkSave(directory, { quota, skipped })) {
    if (stat.isDirectory()) {
      // A directory's time adds nothing to the names in it.
      states.set(`${path}/`, "");
      continue;
    }
    quota.addFile(Number(stat.size));
    // Programs can set a file's mtime but not its ctime. The block count reveals writes through a mapping,
    // which change neither.
    states.set(path, `${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.blocks}`);
  }
  return { signature: hashSignature(states, skipped), states, bytes: quota.bytes() };
}

/** Returns how many files and directories differ between two scans of a directory. */
export function countChanged(before: SaveScan, after: SaveScan): number {
  const paths = new Set([...before.states.keys(), ...after.states.keys()]);
  return [...paths].filter((path) => before.states.get(path) !== after.states.get(path)).length;
}

function hashSignature(states: ReadonlyMap<string, string>, skipped: SkippedEntries): string {
  const hash = createHash("sha256");
  for (const [path, state] of states) hash.update(`${path}\0${state}\0`);
  return hash.update(JSON.stringify(skipped.summary() ?? null)).digest("hex");
}
