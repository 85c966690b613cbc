import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestApi } from "./api.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { controlPlaneProgram } from "../processes/controlPlaneProgram.ts";
import { imageEnvironment } from "../processes/imageEnvironment.ts";
import { repositoryRoot } from "../processes/programs.ts";

/** Long, because the machine may be busy with other tests. */
const readyTimeoutMs = 120_000;

/**
 * The API as started by image and chart, in a separate process next to one in this process: with the same
 * stores and keys.
 */
export class ApiProcess {
  readonly url: string;
  readonly #program: ChildProgram;

  private constructor(url: string, program: ChildProgram) {
    this.url = url;
    this.#program = program;
  }

  /** `program` is its path in the repository. */
  static async beside(
    { deps: { config } }: TestApi,
    env: Record<string, string> = {},
    program = controlPlaneProgram("api"),
  ): Promise<ApiProcess> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { endpoint, region, bucket, accessKey, secretKey } = config.objectStore;
    const signingKeys = [...config.auth.signingKeys]
      .map(([kid, key]) => `${kid}:${key.toString("base64")}`)
      .join();
    const child = new ChildProgram({
      command: process.execPath,
      args: [join(repositoryRoot, program)],
      env: {
        ...imageEnvironment(),
        PORT: String(port),
        METRICS_PORT: "0",
        BASE_URL: url,
        DATABASE_URL: config.postgres.url,
        REDIS_URL: config.redis.url,
        REDIS_TIMEOUT_MS: "5000",
        SHUTDOWN_DELAY_SECONDS: "0",
        S3_ENDPOINT: endpoint,
        S3_REGION: region,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY: accessKey,
        S3_SECRET_KEY: secretKey,
        KUBECONFIG: config.cluster.kubeconfig ?? "",
        SESSIONS_NAMESPACE: config.cluster.sessionsNamespace,
        POD_NAMESPACE: config.cluster.releaseNamespace,
        POD_NAME: `api-${port}`,
        SIGNING_KEYS: signingKeys,
        PASSWORD_PEPPER: config.auth.pepper,
        BCRYPT_COST: String(config.auth.bcryptCost),
        PASSWORD_WORKERS: "1",
        ...env,
      },
      isReady: async () => (await fetch(`${url}/healthz`)).ok,
      install: "it is this Node",
      readyTimeoutMs,
    });
    await child.start();
    return new ApiProcess(url, child);
  }

  /** Kills it like a crash, or with the given signal. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#program.stop(signal);
  }

  /** Sends a signal, such as SIGSTOP to freeze it. */
  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }

  /** True if it has exited. */
  get hasEnded(): boolean {
    return this.#program.hasEnded;
  }

  /** Starts it again on the same address. */
  async start(): Promise<void> {
    await this.#program.start();
  }

  /** Standard output and standard error so far. */
  get output(): string {
    return readFileSync(this.#program.logFile, "utf8");
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Resets the peak. */
  resetPeak(): void {
    writeFileSync(`/proc/${this.#program.pid}/clear_refs`, "5");
  }

  /** Returns the peak resident memory since the last reset in bytes, as reported by the kernel. */
  get peakBytes(): number {
    const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(
      readFileSync(`/proc/${this.#program.pid}/status`, "utf8"),
    )?.[1];
    if (kilobytes === undefined) throw new Error("The kernel does not tell the API's peak memory.");
    return Number(kilobytes) * 1024;
  }
}
