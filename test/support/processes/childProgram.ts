import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../clocks/eventually.ts";

export interface ChildProgramOptions {
  command: string;
  args: string[];
  /** User to run as if this process is root. */
  uid?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Resolves to true once the program serves. */
  isReady: () => Promise<boolean>;
  /** What to install if the command is missing. */
  install: string;
  readyTimeoutMs?: number;
}

/** A server for tests. It never keeps the test process alive, and ends with it even if that is killed. */
export class ChildProgram {
  /** All instances, for a single exit listener. */
  static readonly #all = new Set<ChildProgram>();
  static {
    process.once("exit", () => ChildProgram.#all.forEach((program) => program.#discard()));
  }

  readonly #options: ChildProgramOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), "joypod-test-"));
  #process: ChildProcess | undefined;

  constructor(options: ChildProgramOptions) {
    this.#options = options;
    ChildProgram.#all.add(this);
  }

  /** Starts it and waits until it serves. Works again after a stop. */
  async start(): Promise<void> {
    const { command, args, uid, cwd, env, isReady, install, readyTimeoutMs = 30_000 } = this.#options;
    if (spawnSync("sh", ["-c", `command -v -- "$0"`, command]).status !== 0)
      throw new Error(`${command} is missing: ${install}`);
    const log = openSync(this.logFile, "a");
    const identity =
      uid === undefined || process.getuid?.() !== 0
        ? []
        : [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
    const child = spawn("setpriv", ["--pdeathsig=KILL", ...identity, "--", command, ...args], {
      stdio: ["ignore", log, log],
      cwd,
      env,
    });
    closeSync(log);
    child.unref();
    this.#process = child;
    const said = (): string =>
      `${command} did not start:\n${readFileSync(this.logFile, "utf8").slice(-2000)}`;
    const state = await eventually(
      async () => {
        if (child.exitCode !== null || child.signalCode !== null) return "ended";
        return (await isReady().catch(() => false)) && "ready";
      },
      { timeoutMs: readyTimeoutMs, what: `${command} to serve` },
    ).catch((error: unknown) => {
      throw new Error(said(), { cause: error });
    });
    if (state === "ended") throw new Error(said());
  }

  get logFile(): string {
    return join(this.#directory, "log");
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error(`${this.#options.command} does not run.`);
    return pid;
  }

  /** True if it has ended for any reason, or was never started. */
  get hasEnded(): boolean {
    return (
      this.#process === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null
    );
  }

  /** Sends a signal, such as SIGSTOP to freeze it. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Kills it and waits until it has ended. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    // Outside a test runner, nothing else may keep the process alive until then.
    child.ref();
    child.kill(signal);
    await ended;
  }

  #discard(): void {
    this.#process?.kill("SIGKILL");
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/**
 * Below the ephemeral ports (from 32768), so that no connection and no server on port 0 takes one, even while
 * its program is stopped.
 */
const firstPort = 20_000;
const portCount = 10_000;
const portsGiven = new Set<number>();

/** Returns a TCP port that was free a moment ago. Each port is returned only once. */
export function freePort(): Promise<number> {
  return givenOnce((port) => isFree(() => createServer().listen(port)));
}

/** Returns a UDP port that was free a moment ago. Each port is returned only once. */
export function freeUdpPort(): Promise<number> {
  return givenOnce((port) => isFree(() => createSocket("udp4").bind(port)));
}

async function givenOnce(isPortFree: (port: number) => Promise<boolean>): Promise<number> {
  for (;;) {
    const port = firstPort + randomInt(portCount);
    if (portsGiven.has(port)) continue;
    portsGiven.add(port);
    if (await isPortFree(port)) return port;
  }
}

async function isFree(open: () => Server | Socket): Promise<boolean> {
  const opened = open();
  try {
    await once(opened, "listening");
  } catch {
    opened.close();
    return false;
  }
  opened.close();
  await once(opened, "close");
  return true;
}
