import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** A program that is restarted whenever it exits, like by a kubelet. */
export class KeptProgram {
  readonly #file: string;
  readonly #options: { cwd: string; env: NodeJS.ProcessEnv };
  readonly #running: Promise<void>;
  #child: ChildProcess | undefined;
  #isStopped = false;
  /** Output of all its runs. */
  output = "";
  /** Number of restarts. */
  restarts = -1;

  private constructor(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
    this.#file = file;
    this.#options = options;
    this.#running = this.#run();
  }

  /** Starts it with this process' Node. */
  static start(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }): KeptProgram {
    return new KeptProgram(file, options);
  }

  /** Kills it without restarting it. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill("SIGKILL");
    await this.#running;
  }

  async #run(): Promise<void> {
    const pauseMs = 1_000;
    while (!this.#isStopped) {
      this.restarts++;
      // Ends with this process, even if that is killed.
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
