import { join } from "node:path";
import { ChildProgram, freePort } from "./childProgram.ts";
import { controlPlaneProgram } from "./controlPlaneProgram.ts";
import { imageEnvironment } from "./imageEnvironment.ts";
import { repositoryRoot } from "./programs.ts";

export interface OperatorProcessOptions {
  /** Environment, including KUBECONFIG. */
  env: Record<string, string>;
  /** Name of its pod, which is its identity in the lease. */
  identity: string;
  /** Path of the program in the repository. */
  program?: string;
  readyTimeoutMs?: number;
}

/** The operator as started by image and chart, in a separate process. */
export class OperatorProcess {
  readonly identity: string;
  /** URL of its health and metrics. */
  readonly url: string;
  readonly #program: ChildProgram;

  private constructor(identity: string, url: string, program: ChildProgram) {
    this.identity = identity;
    this.url = url;
    this.#program = program;
  }

  /** Resolves once it is ready: its watches are synced, and it may lead or stand by. */
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

  /** Kills it like a crash, or with the given signal, and waits until it has exited. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#program.stop(signal);
  }

  /** Starts it again on the same address. */
  async start(): Promise<void> {
    await this.#program.start();
  }

  /** Sends a signal, such as SIGSTOP to freeze it. */
  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }
}
