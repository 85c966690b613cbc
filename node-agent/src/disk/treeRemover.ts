import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename } from "node:fs/promises";
import { backOffMs } from "#runtime/backOff.ts";
import { slept, type Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";

/** Removes folders whose content somebody else chose. */
export interface TreeRemover {
  /** Takes the folder out of sight at once; it is taken apart in the background. Does nothing when it is not there. */
  remove(path: string): Promise<void>;
  /** Resolves when nothing is left to be taken apart, or the time is over. */
  stop(): Promise<void>;
}

export interface TreeRemoverOptions {
  /** Folder on the same file system; what a former process left in it is removed too. */
  trash: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

/** One run of the child; what is left is taken up by the next. */
const runMs = 10 * 60_000;
const backOff = { baseMs: 5_000, maxMs: 10 * 60_000 };

/**
 * GNU rm goes through folders by their handles: no depth, breadth or name stops it, and a folder of millions of names costs it a bounded
 * part of them at a time. As a child of its own, niced and under a deadline, it can neither block nor bloat the agent.
 */
export async function createTreeRemover({ trash, clock, random, logger }: TreeRemoverOptions): Promise<TreeRemover> {
  await mkdir(trash, { recursive: true, mode: 0o700 });
  const stopping = new AbortController();
  let working: Promise<void> | undefined;

  /** Goes on until a look finds nothing: what comes in while a child works is found by the next look. */
  async function emptyTrash(): Promise<void> {
    let failures = 0;
    while (!await removeContents(trash, stopping.signal) && !stopping.signal.aborted) {
      failures += 1;
      if (failures > 1) logger.warn({ trash, failures }, "A removed folder could not be taken apart; it is tried again.");
      await slept(clock, backOffMs(backOff, failures, random), stopping.signal);
    }
  }

  function start(): void {
    working = (working ?? Promise.resolve()).then(emptyTrash);
  }

  start();
  return {
    async remove(path) {
      try {
        await rename(path, `${trash}/${randomBytes(8).toString("hex")}`);
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
        throw error;
      }
      start();
    },
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

/** Returns whether all that was there is gone. */
async function removeContents(folder: string, signal: AbortSignal): Promise<boolean> {
  // The names in the trash are ours, and few.
  const names = await readdir(folder);
  if (names.length === 0) return true;
  const paths = names.map((name) => `${folder}/${name}`);
  return new Promise((resolve) => {
    const child = spawn("nice", ["-n", "19", "rm", "-rf", "--one-file-system", "--", ...paths], {
      stdio: "ignore", signal, timeout: runMs, killSignal: "SIGKILL", cwd: "/",
    });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
