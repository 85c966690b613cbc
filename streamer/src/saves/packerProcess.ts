import { fork, type ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import type { PackerCommand, PackerReport } from "#contracts/packerMessages.ts";
import type { SavesConfig } from "../config.ts";
import type { Logger } from "#runtime/logger.ts";
import { beginNewPlaythrough } from "#packer/restore/newPlaythrough.ts";
import { childFlags } from "../media/childFlags.ts";

/** A program of its own, beside the streamer's in the image. */
const program = new URL("../../../packer/src/main.ts", import.meta.url);
/** Below the display, the encoder and what viewers wait for, but with a quarter of a core that these keep busy: at 10 it would be a tenth, and a save late. */
const niceness = 5;
/** A child that lived shorter than this is started again with growing pauses. */
const healthyLifeMs = 10_000;
const maxPauseMs = 5_000;

export interface PackerProcessOptions {
  saves: SavesConfig;
  /** Resolves when the launch no longer needs the processors. */
  calm: Promise<unknown>;
  log: Logger;
  /** Milliseconds, monotonic. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** The process that restores and packs the session's saves; another one takes the place of one that dies. */
export interface PackerProcess {
  /** Has what the game left packed for the last time; resolves when that is done or takes too long. */
  finish(): Promise<void>;
  /** Ends the process, whatever it does. */
  close(): void;
}

/** Starts the packer: at once when there is a save to restore, else when the launch is over, as it has nothing to pack before. */
export function startPacker({ saves, calm, log, now, random }: PackerProcessOptions): PackerProcess {
  const done = Promise.withResolvers<undefined>();
  let shortLives = 0;
  let isFinishing = false;
  let isClosed = false;
  let pause: NodeJS.Timeout | undefined;
  let child = beginNewPlaythrough(saves.place) ? undefined : spawn();
  void calm.then(() => {
    if (!isClosed) child ??= spawn();
  });

  function spawn(): ChildProcess {
    const bornAt = now();
    const born = fork(program, { env: saves.environment, execArgv: childFlags });
    born.on("message", (report: PackerReport) => {
      if (report.t === "restored") stepBack(born, log);
      else close();
    });
    born.on("exit", (exitCode, signal) => replace(exitCode ?? signal, now() - bornAt));
    born.on("error", (error) => log.error({ err: error }, "The packer cannot be reached."));
    if (isFinishing) tellEnd(born);
    return born;
  }

  function replace(reason: number | NodeJS.Signals | null, livedMs: number): void {
    if (isClosed) return;
    shortLives = livedMs < healthyLifeMs ? shortLives + 1 : 0;
    const waitMs = Math.min(maxPauseMs, 250 * 2 ** shortLives) * (0.5 + random() / 2);
    log.warn({ reason, waitMs: Math.round(waitMs) }, "The packer died; another one takes its place.");
    pause = setTimeout(() => {
      child = spawn();
    }, waitMs);
  }

  function close(): void {
    isClosed = true;
    clearTimeout(pause);
    child?.kill("SIGKILL"); // What it had to do is done, or must not be waited for.
    done.resolve(undefined);
  }

  return {
    async finish() {
      isFinishing = true;
      if (child === undefined) child = spawn();
      else if (child.connected) tellEnd(child);
      const deadline = setTimeout(() => {
        log.error({ deadlineMs: saves.packDeadlineMs }, "The last pack of the saves took too long.");
        close();
      }, saves.packDeadlineMs);
      await done.promise;
      clearTimeout(deadline);
    },
    close,
  };
}

/** Only now: until the saves are restored, a launch waits for it. Linux counts by threads, and those that compress are there already. */
function stepBack({ pid }: ChildProcess, log: Logger): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  } catch (error) {
    log.warn({ err: error }, "The packer keeps its priority.");
  }
}

function tellEnd(child: ChildProcess): void {
  const command: PackerCommand = { t: "ended" };
  child.send(command, () => undefined); // One that is dying is replaced, and the next one told.
}
