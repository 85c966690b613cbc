import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename } from "node:fs/promises";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { type Clock, sleepUntilAborted } from "#runtime/scheduling/clock.ts";

/** Options of the remover. */
interface TreeRemoverOptions {
  /** Folder on the same file system. Leftovers of a previous process are removed too. */
  trash: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

/** Time limit of one run of the child. The next run continues with the rest. */
const runMs = 10 * 60_000;
const backOff = { baseMs: 5_000, maxMs: 10 * 60_000 };

/**
 * Removes folders with untrusted content: session folders and unpacked games. GNU rm traverses folders by
 * file descriptor, so any depth, breadth or name is supported, and it holds a bounded part of a folder with
 * millions of names in memory. It runs as a niced child process with a deadline, so that it can neither block
 * the agent nor use up its memory.
 */
export class TreeRemover {
  readonly #options: TreeRemoverOptions;
  readonly #stopping = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(options: TreeRemoverOptions) {
    this.#options = options;
  }

  /** Creates the trash, and starts removing what a previous process left there. */
  async start(): Promise<void> {
    await this.#makeTrash();
    this.#wake();
  }

  /**
   * Moves the folder to the trash at once and deletes it in the background. Does nothing if it does not
   * exist.
   */
  async remove(path: string): Promise<void> {
    if ((await this.#takeOutOfSight(path)) !== undefined) this.#wake();
  }

  /**
   * Deletes the folder with a separate child process, for callers that need the space. Resolves when the
   * child has ended. Returns false if something is left, which is then deleted in the background.
   */
  async removeNow(path: string): Promise<boolean> {
    const doomed = await this.#takeOutOfSight(path);
    const isGone = doomed === undefined || (await takeApart([doomed], this.#stopping.signal));
    if (!isGone) this.#wake();
    return isGone;
  }

  /** Deletes the contents of the folder but not the folder. `last` is moved away last. */
  async removeContents(path: string, last: string): Promise<void> {
    await moveContents(path, `${this.#options.trash}/${randomBytes(8).toString("hex")}`, last);
    this.#wake();
  }

  /** Stops the child. The rest is deleted after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #makeTrash(): Promise<void> {
    await mkdir(this.#options.trash, { recursive: true, mode: 0o700 });
  }

  /** Returns the folder's new path; undefined if it did not exist. */
  async #takeOutOfSight(path: string): Promise<string | undefined> {
    const moved = await this.#moveToTrash(path);
    if (moved !== undefined) return moved;
    // The trash may be missing: an admin who needed space may have removed it by hand.
    await this.#makeTrash();
    return this.#moveToTrash(path);
  }

  /** Returns undefined if the folder or the trash does not exist. */
  async #moveToTrash(path: string): Promise<string | undefined> {
    const doomed = `${this.#options.trash}/${randomBytes(8).toString("hex")}`;
    try {
      await rename(path, doomed);
      return doomed;
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  #wake(): void {
    this.#working = this.#working.then(() => this.#emptyTrash());
  }

  /** Repeats until a listing is empty, because folders may be added while a child works. */
  async #emptyTrash(): Promise<void> {
    const { trash, clock, random, logger } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!(await removeContents(trash, signal)) && !signal.aborted) {
      failures += 1;
      if (failures > 1)
        logger.warn({ trash, failures }, "A removed folder could not be deleted. It is retried.");
      await sleepUntilAborted(clock, backOffMs(backOff, failures, random), signal);
    }
  }
}

/** Returns whether the folder is empty now. */
async function removeContents(folder: string, signal: AbortSignal): Promise<boolean> {
  // The agent chooses the names in the trash, and there are few.
  const names = await readdir(folder).catch((error: unknown) =>
    systemErrorCode(error) === "ENOENT" ? [] : undefined,
  );
  if (names === undefined) return false;
  if (names.length === 0) return true;
  return takeApart(
    names.map((name) => `${folder}/${name}`),
    signal,
  );
}

/** Returns whether all of the paths are gone. */
function takeApart(paths: readonly string[], signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn("nice", ["-n", "19", "rm", "-rf", "--one-file-system", "--", ...paths], {
      stdio: "ignore",
      signal,
      timeout: runMs,
      killSignal: "SIGKILL",
      cwd: "/",
    });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

/**
 * Moves the contents of a folder with few entries into another one. The folder stays. `last` is moved last,
 * so that an interrupted move can be recognized and repeated.
 */
export async function moveContents(from: string, to: string, last: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = await readdir(from);
  const ordered = [...names.filter((name) => name !== last), ...names.filter((name) => name === last)];
  for (const name of ordered) await moveBeside(`${from}/${name}`, `${to}/${name}`);
}

/** Uses another name if the target was created again since the first attempt, so that neither is lost. */
async function moveBeside(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
    await rename(from, `${to}.${randomBytes(4).toString("hex")}`);
  }
}
