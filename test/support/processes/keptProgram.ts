import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** A program of ours that is started again whenever it ends, as a kubelet does. */
export class KeptProgram {
  readonly #file: string;
  readonly #options: { cwd: string; env: NodeJS.ProcessEnv };
  readonly #running: Promise<void>;
  #child: ChildProcess | undefined;
  #isStopped = false;
  /** What it has written so far, over all its starts. */
  output = "";
  /** How often it was started again. */
  restarts = -1;

  private constructor(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
    this.#file = file;
    this.#options = options;
    this.#running = this.#run();
  }

  /** Starts it with this Node. */
  static start(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }): KeptProgram {
    return new KeptProgram(file, options);
  }

  /** Kills it, for good. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill("SIGKILL");
    await this.#running;
  }

  async #run(): Promise<void> {
    const pauseMs = 1_000;
    while (!this.#isStopped) {
      this.restarts++;
      // It ends with us, even when we are killed.
      const child = spawn("setpriv", ["--pdeathsig=KILL", "--", process.execPath, this.#file], {
        ...this.#options,
        stdio: ["ignore", "pipe", "pipe"],
      });
      this.#child = child;
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => void (this.output += chunk.toString()));
      await once(child, "exit");
      await delay(pauseMs);
    }
  }
}
