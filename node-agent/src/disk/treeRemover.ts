import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename } from "node:fs/promises";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { type Clock, slept } from "#runtime/scheduling/clock.ts";

/** What the remover is given. */
interface TreeRemoverOptions {
  /** Folder on the same file system; what a former process left in it is removed too. */
  trash: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

/** The time for one run of the child. The next run takes up what is left. */
const runMs = 10 * 60_000;
const backOff = { baseMs: 5_000, maxMs: 10 * 60_000 };

/**
 * Removes folders whose content somebody else chose, session folders and unpacked games. GNU rm goes through
 * folders by their handles: no depth, breadth or name stops it, and of a folder of millions of names it holds
 * a bounded part at a time. It runs as a niced child under a deadline, so that it can neither block nor bloat
 * the agent.
 */
export class TreeRemover {
  readonly #options: TreeRemoverOptions;
  readonly #stopping = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(options: TreeRemoverOptions) {
    this.#options = options;
  }

  /** Makes the trash, and begins to take apart what a former process left there. */
  async start(): Promise<void> {
    await this.#makeTrash();
    this.#wake();
  }

  /**
   * Takes the folder out of sight at once; it is taken apart in the background. Does nothing when it is not
   * there.
   */
  async remove(path: string): Promise<void> {
    if ((await this.#takeOutOfSight(path)) !== undefined) this.#wake();
  }

  /**
   * The same by a child of its own, for whom the room matters. Resolves when that has ended; returns false
   * where not all is gone: what is left is taken apart in the background.
   */
  async removeNow(path: string): Promise<boolean> {
    const doomed = await this.#takeOutOfSight(path);
    const isGone = doomed === undefined || (await takeApart([doomed], this.#stopping.signal));
    if (!isGone) this.#wake();
    return isGone;
  }

  /** The same for what is in the folder, which stays; `last` goes when all else has. */
  async removeContents(path: string, last: string): Promise<void> {
    await moveContents(path, `${this.#options.trash}/${randomBytes(8).toString("hex")}`, last);
    this.#wake();
  }

  /** Ends the child; what is left is taken apart after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #makeTrash(): Promise<void> {
    await mkdir(this.#options.trash, { recursive: true, mode: 0o700 });
  }

  /** Returns where the folder is now; undefined when it was not there. */
  async #takeOutOfSight(path: string): Promise<string | undefined> {
    const moved = await this.#moveToTrash(path);
    if (moved !== undefined) return moved;
    // It is the trash that may not be there: somebody who needed room may have removed it by hand.
    await this.#makeTrash();
    return this.#moveToTrash(path);
  }

  /** Returns undefined where the folder, or the trash, is not there. */
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

  /** Goes on until a look finds nothing: what comes in while a child works is found by the next look. */
  async #emptyTrash(): Promise<void> {
    const { trash, clock, random, logger } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!(await removeContents(trash, signal)) && !signal.aborted) {
      failures += 1;
      if (failures > 1)
        logger.warn({ trash, failures }, "A removed folder could not be deleted. It is retried.");
      await slept(clock, backOffMs(backOff, failures, random), signal);
    }
  }
}

/** Returns whether all that was there is gone. */
async function removeContents(folder: string, signal: AbortSignal): Promise<boolean> {
  // The names in the trash are ours, and few.
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
 * Moves what is in a folder of few names into another one, and leaves the folder. Of a move that was cut off,
 * `last` is still where it was; done again it goes on where that ended.
 */
export async function moveContents(from: string, to: string, last: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = await readdir(from);
  const ordered = [...names.filter((name) => name !== last), ...names.filter((name) => name === last)];
  for (const name of ordered) await moveBeside(`${from}/${name}`, `${to}/${name}`);
}

/** A folder that was made anew since the first try takes another name: neither is lost. */
async function moveBeside(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
    await rename(from, `${to}.${randomBytes(4).toString("hex")}`);
  }
}
