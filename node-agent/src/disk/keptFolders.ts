import { execFile } from "node:child_process";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { promisify } from "node:util";
import { moveContents } from "./moveContents.ts";
import type { TreeRemover } from "./treeRemover.ts";

/** Session folders that are set aside for an admin. */
export interface KeptFolders {
  /** Makes the folder that holds them. */
  open(): Promise<void>;
  /**
   * Moves a folder here under the name, in place of an older one, and drops the oldest beyond the bounds; returns where it is now. With `contents` the folder
   * itself stays, and of what is in it `last` is moved last.
   */
  take(folder: string, name: string, contents?: { last: string }): Promise<string>;
  /** Returns how many there are. */
  count(): Promise<number>;
}

const run = promisify(execFile);

/** Folders, and bytes of all of them together. */
const bounds = { folders: 32, bytes: 4 * 2 ** 30 };
/** A folder that cannot be measured in this time counts as too large. */
const measureMs = 60_000;

/** Returns the kept folders below `directory`. What is dropped goes through the remover, whatever a game has made of it. */
export function createKeptFolders(directory: string, remover: TreeRemover): KeptFolders {
  async function dropOldest(): Promise<void> {
    const names = await readdir(directory);
    const folders = await Promise.all(names.map(async (name) => {
      const path = `${directory}/${name}`;
      return { path, changedMs: (await lstat(path)).ctimeMs };
    }));
    folders.sort((left, right) => right.changedMs - left.changedMs);
    let bytes = 0;
    for (const [index, { path }] of folders.entries()) {
      bytes += index < bounds.folders && bytes <= bounds.bytes ? await sizeOf(path) : 0;
      if (index >= bounds.folders || bytes > bounds.bytes) await remover.remove(path);
    }
  }

  return {
    async open() {
      await mkdir(directory, { recursive: true, mode: 0o700 });
    },
    async take(folder, name, contents) {
      const path = `${directory}/${name}`;
      await remover.remove(path);
      if (contents === undefined) await rename(folder, path);
      else await moveContents(folder, path, contents.last);
      await dropOldest();
      return path;
    },
    count: async () => (await readdir(directory)).length,
  };
}

/** Measured by a child, as the folder may be a game's work. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { stdout } = await run("nice", ["-n", "19", "du", "--summarize", "--one-file-system", "--block-size=1", "--", path], { timeout: measureMs, killSignal: "SIGKILL" });
    return Number.parseInt(stdout, 10);
  } catch {
    return Number.POSITIVE_INFINITY; // Too large to be measured, so too large to be kept.
  }
}
