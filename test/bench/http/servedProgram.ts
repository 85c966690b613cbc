import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { eventually } from "#test/support/clocks/eventually.ts";
import { cpuMsOf } from "../scale/processFigures.ts";

/** The metric measures the time between two checks of the clock, which are this far apart on an idle loop. */
const lagPrecisionMs = 10;

export interface ServedProgramOptions {
  args: string[];
  env: Record<string, string>;
  port: number;
  /** Port of its metrics; optional. */
  metricsPort: number;
}

/** The API or a peer in a separate process. */
export class ServedProgram {
  readonly port: number;
  readonly #options: ServedProgramOptions;
  #process: ChildProcess | undefined;

  constructor(options: ServedProgramOptions) {
    this.port = options.port;
    this.#options = options;
  }

  /** Starts it and resolves once it serves. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, this.#options.args, {
      env: this.#options.env,
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#process = child;
    const killIt = (): void => void child.kill("SIGKILL");
    process.once("exit", killIt);
    child.once("exit", () => process.off("exit", killIt));
    const died = once(child, "exit").then(([code]) => {
      throw new Error(`${this.#options.args.join(" ")} ended with ${code}.`);
    });
    died.catch(() => undefined);
    const serves = eventually(async () => (await fetch(`http://127.0.0.1:${this.port}/healthz`)).ok, {
      timeoutMs: 60_000,
      what: "the program to serve",
    });
    await Promise.race([died, serves]);
  }

  /** Processor time of all its threads, in milliseconds. */
  get cpuMs(): number {
    return cpuMsOf(this.#pid);
  }

  /** Returns the longest stall of its event loop since the last call, in milliseconds. */
  async stallMs(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${this.#options.metricsPort}/metrics`)).text();
    const seconds = Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1]);
    return Math.max(0, seconds * 1000 - lagPrecisionMs);
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  get #pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("The program does not run.");
    return pid;
  }
}
