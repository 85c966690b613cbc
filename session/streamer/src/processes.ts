import { spawn, type ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "#runtime/logger.ts";
import { rmSync } from "node:fs";

const tailLength = 2_000;
const socketPollMs = 15;
const groupEndMs = 2_000;

interface ServerProcessOptions {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  logger: Logger;
  /** Called when the process ends without having been asked to. */
  onExit: (name: string) => void;
  /** Whether `stop` kills the whole process group. */
  killsGroup?: boolean;
}

/** A process that the session depends on. */
export interface ServerProcess {
  /** Resolves immediately, or for a group once all its processes are gone. */
  stop(): Promise<void>;
}

/** Starts a process. If it ends unexpectedly, logs the end of its error output and calls `onExit`. */
export function startServerProcess({
  name,
  command,
  args,
  env,
  logger,
  onExit,
  killsGroup = false,
}: ServerProcessOptions): ServerProcess {
  let isStopping = false;
  const child = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"], detached: killsGroup });
  const tail = captureStderrTail(child);
  const report = (details: Record<string, unknown>) => {
    if (isStopping) return;
    isStopping = true;
    logger.error({ server: name, ...details, output: tail() }, "A process of the session ended.");
    onExit(name);
  };
  child.on("error", (error) => report({ err: error }));
  child.on("exit", (exitCode, signal) => report({ exitCode, signal }));
  return {
    async stop() {
      isStopping = true;
      if (killsGroup) await endGroup(child.pid);
      else child.kill("SIGTERM");
    },
  };
}

/** Kills a process group and waits until its last process is gone. */
async function endGroup(group: number | undefined): Promise<void> {
  const deadline = performance.now() + groupEndMs;
  while (group !== undefined && signalGroup(group) && performance.now() < deadline) await delay(socketPollMs);
}

/** Returns whether the group still has a process. */
function signalGroup(group: number): boolean {
  try {
    return process.kill(-group, "SIGKILL");
  } catch {
    return false;
  }
}

function captureStderrTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-tailLength);
  });
  return () => text.trim();
}

/** Resolves to true once a Unix socket canConnect connections, or to false after `timeoutMs`. */
export async function waitForSocket(path: string, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await canConnect(path)) return true;
    await delay(socketPollMs);
  }
  return false;
}

function canConnect(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/**
 * Node flags for child processes. Without this one, loading a native module from ESM prints a warning at
 * every start.
 */
export const childFlags = ["--disable-warning=ExperimentalWarning"];

/**
 * Removes whatever an earlier run of this container left at a socket's path. Only logs a failure: the server
 * then reports why it does not start.
 */
export function removeStale(path: string, logger: Logger): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    logger.warn({ err: error, path }, "A stale socket could not be removed.");
  }
}
