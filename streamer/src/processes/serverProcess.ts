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

/** A program that the session cannot live without. */
export interface ServerProcess {
  stop(): void;
}

/** Starts a program and reports its death with the end of what it said. */
export function startServerProcess({ name, command, args, env, log, onExit }: ServerProcessOptions): ServerProcess {
  let stopping = false;
  const child = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const tail = keepTail(child);
  const report = (details: Record<string, unknown>) => {
    if (stopping) return;
    stopping = true;
    log.error({ server: name, ...details, output: tail() }, "A program of the session died.");
    onExit(name);
  };
  child.on("error", (error) => report({ err: error }));
  child.on("exit", (exitCode, signal) => report({ exitCode, signal }));
  return {
    stop() {
      stopping = true;
      child.kill("SIGTERM");
    },
  };
}

function keepTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-tailLength);
  });
  return () => text.trim();
}

/** Resolves true once a unix socket accepts connections, false when it does not within the time. */
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
