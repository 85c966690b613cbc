import { spawn, type ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "#runtime/logger.ts";

const tailLength = 2_000;
const socketPollMs = 15;

export interface ServerProcessOptions {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  log: Logger;
  /** Called when it ends without having been asked to. */
  onExit: (name: string) => void;
}

/** A program that the session cannot do without. */
export interface ServerProcess {
  stop(): void;
}

/** Starts a program; when it ends by itself, logs the end of its error output and calls `onExit`. */
export function startServerProcess({ name, command, args, env, log, onExit }: ServerProcessOptions): ServerProcess {
  let isStopping = false;
  const child = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const tail = keepOutputTail(child);
  const report = (details: Record<string, unknown>) => {
    if (isStopping) return;
    isStopping = true;
    log.error({ server: name, ...details, output: tail() }, "A program of the session ended.");
    onExit(name);
  };
  child.on("error", (error) => report({ err: error }));
  child.on("exit", (exitCode, signal) => report({ exitCode, signal }));
  return {
    stop() {
      isStopping = true;
      child.kill("SIGTERM");
    },
  };
}

function keepOutputTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-tailLength);
  });
  return () => text.trim();
}

/** Resolves with true once a unix socket accepts connections, with false when it does not within this time. */
export async function waitForSocket(path: string, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await accepts(path)) return true;
    await delay(socketPollMs);
  }
  return false;
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
