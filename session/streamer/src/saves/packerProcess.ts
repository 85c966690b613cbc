import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { fork, type ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import type { PackerCommand, PackerReport } from "#contracts/spool.ts";
import type { SavesConfig } from "../config.ts";
import type { Logger } from "#runtime/logger.ts";
import { beginNewPlaythrough } from "#packer/restore/saveDirectory.ts";
import { childFlags } from "../processes.ts";

/** A program of its own, beside the streamer's in the image. */
const program = new URL("../../../packer/src/main.ts", import.meta.url);
/**
 * The display, the encoder and what viewers wait for come first, but of a core that these keep busy the
 * packer gets a quarter: at 10 it would get a tenth, and saves would be late.
 */
const niceness = 5;
/** A child that ran for less time than this is started again with exponential backoff. */
const healthyRunMs = 10_000;
const maxBackoffMs = 5_000;

export interface PackerProcessOptions {
  saves: SavesConfig;
  /** Resolves when the launch no longer needs the processors. */
  launchSettled: Promise<unknown>;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** From 0 to 1. */
  random: () => number;
}

/** The process that restores and packs the session's saves; when it exits early, another one is started. */
export interface PackerProcess {
  /** Has the saves packed for the last time; resolves when that is done or takes too long. */
  finish(): Promise<void>;
  /** Ends the process, whatever it is doing. */
  close(): void;
}

/**
 * Starts the packer. It starts at once when there is a save to restore. Otherwise it starts when the launch
 * has settled, because it has nothing to pack before.
 */
export function startPacker({
  saves,
  launchSettled,
  logger,
  clock,
  random,
}: PackerProcessOptions): PackerProcess {
  const done = Promise.withResolvers<undefined>();
  let shortRuns = 0;
  let isFinishing = false;
  let isClosed = false;
  let restartTimer: Timer | undefined;
  let child = beginNewPlaythrough(saves.paths) ? undefined : spawn();
  void launchSettled.then(() => {
    if (!isClosed) child ??= spawn();
  });

  function spawn(): ChildProcess {
    const startedAt = clock.monotonicMs();
    const started = fork(program, { env: saves.environment, execArgv: childFlags });
    started.on("message", (report: PackerReport) => {
      if (report.t === "restored") lowerPriority(started, logger);
      else close();
    });
    started.on("exit", (exitCode, signal) => replace(exitCode ?? signal, clock.monotonicMs() - startedAt));
    started.on("error", (error) => {
      logger.error({ err: error }, "The packer cannot be reached.");
      // What could not be started, as where a game holds all processes that the pod may have, has no exit.
      if (started.pid === undefined) replace(null, 0);
    });
    if (isFinishing) sendGameEnded(started);
    return started;
  }

  function replace(reason: number | NodeJS.Signals | null, ranMs: number): void {
    if (isClosed) return;
    shortRuns = ranMs < healthyRunMs ? shortRuns + 1 : 0;
    const waitMs = Math.min(maxBackoffMs, 250 * 2 ** shortRuns) * (0.5 + random() / 2);
    logger.warn({ reason, waitMs: Math.round(waitMs) }, "The packer exited; another one is started.");
    restartTimer = clock.setTimer(waitMs, () => {
      child = spawn();
    });
  }

  function close(): void {
    isClosed = true;
    restartTimer?.cancel();
    child?.kill("SIGKILL"); // What it had to do is done, or must not be waited for.
    done.resolve(undefined);
  }

  return {
    async finish() {
      isFinishing = true;
      if (child === undefined) child = spawn();
      else if (child.connected) sendGameEnded(child);
      const deadline = clock.setTimer(saves.packDeadlineMs, () => {
        logger.error({ deadlineMs: saves.packDeadlineMs }, "The last pack of the saves took too long.");
        close();
      });
      await done.promise;
      deadline.cancel();
    },
    close,
  };
}

/**
 * Comes after the restore, which a launch waits for. Linux counts priority by threads, and those that
 * compress have started already.
 */
function lowerPriority({ pid }: ChildProcess, logger: Logger): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  } catch (error) {
    logger.warn({ err: error }, "The packer's priority could not be lowered.");
  }
}

function sendGameEnded(child: ChildProcess): void {
  const command: PackerCommand = { t: "ended" };
  // A child that is exiting is replaced, and the next one gets the command.
  child.send(command, () => undefined);
}
