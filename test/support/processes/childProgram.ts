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
  /** Runs as this user when we are root. */
  uid?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Resolves once the program serves. */
  isReady: () => Promise<boolean>;
  /** What to install when the command is missing. */
  install: string;
  readyTimeoutMs?: number;
}

/**
 * A server that tests use: it never keeps the test process alive and dies with it, even when that is killed.
 */
export class ChildProgram {
  /** Dealt with by one listener, however many there are. */
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

  /** Starts it and waits until it serves; also after a stop. */
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

  /** Whether it runs no more, whoever ended it, or has never been started. */
  get hasEnded(): boolean {
    return (
      this.#process === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null
    );
  }

  /** Sends a signal, such as SIGSTOP to make it hang. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Kills it and waits for its end. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    // Outside of a test runner nothing else may keep the process alive until then.
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
 * Below those that the system gives out by itself (from 32768), so that no connection and no server on port 0
 * takes one, also while its program is stopped.
 */
const firstPort = 20_000;
const portCount = 10_000;
const portsGiven = new Set<number>();

/** A TCP port that was free a moment ago, and is given once. */
export function freePort(): Promise<number> {
  return givenOnce((port) => isFree(() => createServer().listen(port)));
}

/** A UDP port that was free a moment ago, and is given once. */
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
