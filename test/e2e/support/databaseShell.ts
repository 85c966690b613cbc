import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { releaseNamespace, type Platform } from "./platform.ts";

/** Deadline, because a database or an API server that a test has stopped does not respond. */
const deadlineMs = 10_000;

interface OpenShell {
  psql: ChildProcessWithoutNullStreams;
  lines: Interface;
  /** Aborted when psql has exited. */
  ended: AbortSignal;
}

/**
 * A psql process in the bundled Postgres that runs statements one after the other, because starting one per
 * statement costs far more than the statements.
 */
export class DatabaseShell {
  readonly #platform: Platform;
  #open: OpenShell | undefined;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Runs SQL that returns one row with one JSON value, and returns that value. */
  async json(sql: string): Promise<unknown> {
    const { psql, lines, ended } = (this.#open ??= this.#start());
    try {
      psql.stdin.write(`${sql};\n`);
      const [line] = (await once(lines, "line", {
        signal: AbortSignal.any([ended, AbortSignal.timeout(deadlineMs)]),
      })) as [string];
      return JSON.parse(line) as unknown;
    } catch (error) {
      // Its remaining output belongs to no later statement.
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#open?.psql.kill("SIGKILL");
    this.#open = undefined;
  }

  #start(): OpenShell {
    const psql = this.#platform.startKubectl([
      "-n",
      releaseNamespace,
      "exec",
      "-i",
      "statefulset/joypod-postgres",
      "--",
      "psql",
      "--username",
      "joypod",
      "--dbname",
      "joypod",
      "-qAtX",
      "--set",
      "ON_ERROR_STOP=1",
    ]);
    const end = new AbortController();
    let said = "";
    psql.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-1000);
    });
    psql.stdin.on("error", () => undefined); // It has ended, which is told below.
    psql.once("error", (error) => end.abort(error));
    psql.once("close", () => end.abort(new Error(`psql has ended: ${said}`)));
    return { psql, lines: createInterface(psql.stdout), ended: end.signal };
  }
}
