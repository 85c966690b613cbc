import { execFile } from "node:child_process";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { promisify } from "node:util";
import { systemErrorCode } from "#runtime/errors.ts";
import { moveContents, type TreeRemover } from "./treeRemover.ts";

/** Session folders that are set aside for an admin. */
export interface KeptFolders {
  /** Makes the folder that holds them. */
  open(): Promise<void>;
  /**
   * Moves a folder here under the name, in place of an older one, and drops the oldest beyond the bounds;
   * returns where it is now. With `onlyContents` the folder itself stays. Of what is in it `last` is moved
   * last: while that is there, a move that was cut off is to be done again.
   */
  take(folder: string, name: string, last: string, onlyContents?: boolean): Promise<string>;
  /** Returns how many there are. */
  count(): Promise<number>;
}

const run = promisify(execFile);

/** Folders, and bytes of all of them together. */
const bounds = { folders: 32, bytes: 4 * 2 ** 30 };
/** A folder that cannot be measured in this time counts as too large. */
const measureMs = 60_000;

/**
 * Returns the kept folders below `directory`. What is dropped goes through the remover, whatever a game has
 * made of it.
 */
export function createKeptFolders(directory: string, remover: TreeRemover): KeptFolders {
  async function dropOldest(): Promise<void> {
    const names = await readdir(directory);
    const folders = await Promise.all(
      names.map(async (name) => {
        const path = `${directory}/${name}`;
        return { path, changedMs: (await lstat(path)).ctimeMs };
      }),
    );
    folders.sort((left, right) => right.changedMs - left.changedMs);
    let bytes = 0;
    for (const [index, { path }] of folders.entries()) {
      bytes += index < bounds.folders && bytes <= bounds.bytes ? await sizeOf(path) : 0;
      if (index >= bounds.folders || bytes > bounds.bytes) await remover.remove(path);
    }
  }

  async function replace(path: string, by: string): Promise<void> {
    await remover.remove(path);
    await rename(by, path);
  }

  async function open(): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  return {
    open,
    async take(folder, name, last, onlyContents = false) {
      await open(); // An admin who has seen to all of them may have removed it with them.
      const path = `${directory}/${name}`;
      // What a move that was cut off has brought here. It counts as a folder like the others, whether or not
      // it is ever done again.
      const draft = `${path}.new`;
      if (await isThere(`${draft}/${last}`)) await replace(path, draft); // Another session's of the name, of which only this was missing.
      if (onlyContents || (await isThere(draft))) {
        await moveContents(folder, draft, last);
        await replace(path, draft);
        if (!onlyContents) await remover.remove(folder);
      } else {
        await replace(path, folder);
      }
      await dropOldest();
      return path;
    },
    async count() {
      try {
        return (await readdir(directory)).length;
      } catch (error) {
        if (systemErrorCode(error) === "ENOENT") return 0;
        throw error;
      }
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Measured by a child, as the folder may be a game's work. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { stdout } = await run(
      "nice",
      ["-n", "19", "du", "--summarize", "--one-file-system", "--block-size=1", "--", path],
      { timeout: measureMs, killSignal: "SIGKILL" },
    );
    return Number.parseInt(stdout, 10);
  } catch {
    return Number.POSITIVE_INFINITY; // Too large to be measured, so too large to be kept.
  }
}
