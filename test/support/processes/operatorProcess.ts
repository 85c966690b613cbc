import { join } from "node:path";
import { ChildProgram, freePort } from "./childProgram.ts";
import { controlPlaneProgram } from "./controlPlaneProgram.ts";
import { imageEnvironment } from "./imageEnvironment.ts";
import { repositoryRoot } from "./programs.ts";

export interface OperatorProcessOptions {
  /** What it is configured with, its kubeconfig included. */
  env: Record<string, string>;
  /** Its pod's name, by which it holds the lease. */
  identity: string;
  /** Its file under the root. */
  program?: string;
  readyTimeoutMs?: number;
}

/** The operator as image and chart start it, in a process of its own. */
export class OperatorProcess {
  readonly identity: string;
  /** Where it tells its health and metrics. */
  readonly url: string;
  readonly #program: ChildProgram;

  private constructor(identity: string, url: string, program: ChildProgram) {
    this.identity = identity;
    this.url = url;
    this.#program = program;
  }

  /** Resolves once it is ready: it has read what it watches, and may lead or stand by. */
  static async start({
    env,
    identity,
    program = controlPlaneProgram("operator"),
    readyTimeoutMs = 60_000,
  }: OperatorProcessOptions): Promise<OperatorProcess> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const child = new ChildProgram({
      command: process.execPath,
      args: [join(repositoryRoot, program)],
      env: {
        ...imageEnvironment(),
        PATH: process.env["PATH"],
        ...env,
        HTTP_PORT: String(port),
        POD_NAME: identity,
      },
      isReady: async () => (await fetch(`${url}/readyz`)).ok,
      install: "it is this Node",
      readyTimeoutMs,
    });
    await child.start();
    return new OperatorProcess(identity, url, child);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Ends it as a crash would, or as told, and waits for its end. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#program.stop(signal);
  }

  /** Starts it again, at the same address. */
  async start(): Promise<void> {
    await this.#program.start();
  }

  /** Sends a signal, such as SIGSTOP to freeze it. */
  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }
}
