import { z } from "zod";
import { ChildProgram, freePort } from "#test/support/processes/childProgram.ts";
import { programPath } from "#test/support/processes/programs.ts";
import type { ScrapeTarget } from "#test/support/metrics/prometheus.ts";
import type { Platform } from "./platform.ts";

/** Metrics ports of the chart's PodMonitors by component. */
const metricsPorts: Readonly<Record<string, number>> = {
  api: 8083,
  operator: 8081,
  "node-agent": 8082,
  turn: 8086,
};

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        namespace: z.string(),
        labels: z.record(z.string(), z.string()),
        deletionTimestamp: z.string().optional(),
      }),
      status: z.object({ phase: z.string() }),
    }),
  ),
});

/** The platform's pods, reached through `kubectl proxy`. */
export class ScrapeTargets {
  readonly targets: readonly ScrapeTarget[];
  readonly #proxy: ChildProgram;

  private constructor(targets: readonly ScrapeTarget[], proxy: ChildProgram) {
    this.targets = targets;
    this.#proxy = proxy;
  }

  static async open(platform: Platform): Promise<ScrapeTargets> {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const proxy = new ChildProgram({
      command: await programPath("kubectl"),
      args: ["--kubeconfig", platform.kubeconfig, "proxy", `--port=${port}`],
      install: "run make programs.",
      isReady: async () => (await fetch(`http://${address}/version`)).ok,
    });
    await proxy.start();
    const { items } = Pods.parse(
      JSON.parse(
        await platform.kubectl([
          "get",
          "pods",
          "--all-namespaces",
          "-l",
          "app.kubernetes.io/part-of=joypod",
          "-o",
          "json",
        ]),
      ),
    );
    const targets = items
      .filter(
        ({ metadata, status }) => status.phase === "Running" && metadata.deletionTimestamp === undefined,
      )
      .flatMap(({ metadata: { name: pod, namespace, labels } }): ScrapeTarget[] => {
        const metricsPort = metricsPorts[labels["app.kubernetes.io/component"] ?? ""];
        return metricsPort === undefined
          ? []
          : [
              {
                address,
                path: `/api/v1/namespaces/${namespace}/pods/${pod}:${metricsPort}/proxy/metrics`,
                labels: { namespace, pod },
              },
            ];
      });
    return new ScrapeTargets(targets, proxy);
  }

  async close(): Promise<void> {
    await this.#proxy.stop();
  }
}
