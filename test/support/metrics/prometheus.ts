import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { ChildProgram, freePort } from "../processes/childProgram.ts";

/** A metrics endpoint. */
export interface ScrapeTarget {
  /** Host and port. */
  address: string;
  path: string;
  /** Additional labels of the target. */
  labels: Readonly<Record<string, string>>;
}

const QueryResponse = z.object({
  data: z.object({
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
    ),
  }),
});
const TargetsResponse = z.object({
  data: z.object({
    activeTargets: z.array(
      z.object({
        labels: z.record(z.string(), z.string()),
        health: z.enum(["up", "down", "unknown"]),
        lastError: z.string(),
      }),
    ),
  }),
});
const RulesResponse = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            name: z.string(),
            health: z.enum(["ok", "err", "unknown"]),
            lastError: z.string().optional(),
          }),
        ),
      }),
    ),
  }),
});

/** A real Prometheus of the Debian package with a short scrape interval and no persistence. */
export class Prometheus {
  readonly #folder = mkdtempSync(join(tmpdir(), "joypod-prometheus-"));
  readonly #url: string;
  readonly #program: ChildProgram;
  readonly #targetCount: number;

  private constructor(port: number, targets: readonly ScrapeTarget[], ruleFiles: readonly string[]) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#targetCount = targets.length;
    const config = join(this.#folder, "prometheus.yaml");
    writeFileSync(
      config,
      stringify({
        global: { scrape_interval: "2s", evaluation_interval: "2s" },
        rule_files: ruleFiles,
        scrape_configs: [
          {
            job_name: "joypod",
            static_configs: targets.map(({ address, path, labels }) => ({
              targets: [address],
              labels: { ...labels, __metrics_path__: path },
            })),
          },
        ],
      }),
    );
    this.#program = new ChildProgram({
      command: "prometheus",
      install: "install the Debian package prometheus.",
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.#folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=warn",
      ],
      isReady: async () => (await fetch(`${this.#url}/-/ready`)).ok,
    });
  }

  static async start(
    targets: readonly ScrapeTarget[],
    ruleFiles: readonly string[] = [],
  ): Promise<Prometheus> {
    const prometheus = new Prometheus(await freePort(), targets, ruleFiles);
    await prometheus.#program.start();
    return prometheus;
  }

  /**
   * Returns the current values of an expression, without NaN.
   *
   * @throws Prometheus' message about an invalid expression.
   */
  async query(expression: string): Promise<number[]> {
    const { data } = QueryResponse.parse(
      await this.#get(`query?${new URLSearchParams({ query: expression }).toString()}`),
    );
    return data.result.map(({ value: [, text] }) => Number(text)).filter((value) => !Number.isNaN(value));
  }

  /** Returns an error for each target that could not be scraped, or has not been scraped yet. */
  async targetFaults(): Promise<string[]> {
    const { data } = TargetsResponse.parse(await this.#get("targets"));
    // Prometheus has no targets right after its start.
    if (data.activeTargets.length < this.#targetCount)
      return [`It knows ${data.activeTargets.length} of ${this.#targetCount} targets.`];
    return data.activeTargets
      .filter(({ health }) => health !== "up")
      .map(({ labels, health, lastError }) => `${JSON.stringify(labels)}: ${health} ${lastError}`);
  }

  /** Returns an error for each rule that could not be evaluated, or has not been evaluated yet. */
  async ruleFaults(): Promise<string[]> {
    const { data } = RulesResponse.parse(await this.#get("rules"));
    return data.groups
      .flatMap(({ rules }) => rules)
      .filter(({ health }) => health !== "ok")
      .map(({ name, health, lastError = "" }) => `${name}: ${health} ${lastError}`);
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    if (!response.ok)
      throw new Error(`Prometheus responded with status ${response.status}: ${await response.text()}`);
    return response.json();
  }
}
