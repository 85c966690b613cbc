import { execFile } from "node:child_process";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { promisify } from "node:util";
import { systemErrorCode } from "#runtime/errors.ts";
import { moveContents, type TreeRemover } from "./treeRemover.ts";

/** Session folders set aside for an admin. */
export interface KeptFolders {
  /** Creates the parent folder. */
  open(): Promise<void>;
  /**
   * Moves a folder here under the name, replacing an older one, and removes the oldest folders beyond the
   * bounds. Returns the new path. With `onlyContents` the folder itself stays. The entry `last` is moved
   * last: as long as it is there, an interrupted move has to be repeated.
   */
  take(folder: string, name: string, last: string, onlyContents?: boolean): Promise<string>;
  /** Returns the number of folders. */
  count(): Promise<number>;
}

const run = promisify(execFile);

/** Maximum number of folders, and maximum total bytes. */
const bounds = { folders: 32, bytes: 4 * 2 ** 30 };
/** A folder that cannot be measured within this time counts as too large. */
const measureMs = 60_000;

/**
 * Returns the kept folders below `directory`. Removals go through the remover, because games control the
 * content.
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
      await open(); // An admin who has handled all folders may have removed the parent as well.
      const path = `${directory}/${name}`;
      // Holds the result of an interrupted move. It counts as a folder like the others, whether or not the
      // move is repeated.
      const draft = `${path}.new`;
      // Left by another session of the same name that lacked only this entry.
      if (await isThere(`${draft}/${last}`)) await replace(path, draft);
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

/** Measured by a child process, because a game controls the folder's content. */
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
