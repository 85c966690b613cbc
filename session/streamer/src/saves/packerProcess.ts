import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { fork, type ChildProcess } from "node:child_process";
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import type { PackerCommand, PackerReport } from "#contracts/spool.ts";
import type { SavesConfig } from "../config.ts";
import type { Logger } from "#runtime/logger.ts";
import { beginNewPlaythrough } from "#packer/restore/saveDirectory.ts";
import { childFlags } from "../processes.ts";

/** A separate program in the streamer's image. */
const program = new URL("../../../packer/src/main.ts", import.meta.url);
/**
 * Display, encoder and viewers come first, but when they saturate a core the packer still gets a quarter of
 * it. At niceness 10 it would get a tenth, and saves would be late.
 */
const niceness = 5;
/** A child that ran for less time than this is restarted with exponential backoff. */
const healthyRunMs = 10_000;
const maxBackoffMs = 5_000;

export interface PackerProcessOptions {
  saves: SavesConfig;
  /** Resolves when the launch no longer needs the processors. */
  launchSettled: Promise<unknown>;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** Returns a number from 0 to 1. */
  random: () => number;
}

/** The process that restores and packs the session's saves. It is replaced when it exits early. */
export interface PackerProcess {
  /** Packs the saves for the last time. Resolves when that is done or takes too long. */
  finish(): Promise<void>;
  /** Passes on what the display shows now, for the packs that follow. */
  sendPicture(jpeg: Buffer): void;
  /** Ends the process immediately. */
  close(): void;
}

/**
 * Starts the packer immediately if there is a save to restore. Otherwise starts it when the launch has
 * settled, because there is nothing to pack before.
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
      logger.error({ err: error }, "The packer process failed.");
      // A process that could not be started has no exit event. This happens when a game uses up the pod's
      // process limit.
      if (started.pid === undefined) replace(null, 0);
    });
    if (isFinishing) sendGameEnded(started);
    return started;
  }

  function replace(reason: number | NodeJS.Signals | null, ranMs: number): void {
    if (isClosed) return;
    shortRuns = ranMs < healthyRunMs ? shortRuns + 1 : 0;
    const waitMs = Math.min(maxBackoffMs, 250 * 2 ** shortRuns) * (0.5 + random() / 2);
    logger.warn({ reason, waitMs: Math.round(waitMs) }, "The packer exited and is restarted.");
    restartTimer = clock.setTimer(waitMs, () => {
      child = spawn();
    });
  }

  function close(): void {
    isClosed = true;
    restartTimer?.cancel();
    child?.kill("SIGKILL"); // Its work is done, or nobody waits for it.
    done.resolve(undefined);
  }

  return {
    sendPicture(jpeg) {
      if (child?.connected === true) send(child, { t: "picture", jpeg: jpeg.toString("base64") });
    },
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
 * Called after the restore, which a launch waits for. Linux sets priorities per thread, and the compression
 * threads are already running.
 */
function lowerPriority({ pid }: ChildProcess, logger: Logger): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  } catch (error) {
    logger.warn({ err: error }, "The packer's priority could not be lowered.");
  }
}

/** A child that is exiting is replaced, and its replacement is told that the game has ended. */
function sendGameEnded(child: ChildProcess): void {
  send(child, { t: "ended" });
}

function send(child: ChildProcess, command: PackerCommand): void {
  child.send(command, () => undefined);
}
