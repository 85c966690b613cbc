import { setTimeout as delay } from "node:timers/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import { systemClock } from "#runtime/clock.ts";
import { compactHeap } from "#runtime/compactHeap.ts";
import { LeaderElector } from "#kube/leaderElector.ts";
import { KubeMetrics } from "#kube/metrics.ts";
import { KubeTransport } from "#kube/transport.ts";
import { parseConfig, type Config } from "./config.ts";
import { HealthServer } from "./health.ts";
import { createLogger } from "./logger.ts";
import { Operator } from "./operator.ts";

/** Less than the pod's grace, so that the end is ours and in the log. */
const shutdownMs = 15_000;

const config = readConfig();
const logger = createLogger({ level: config.logLevel });
const registry = new Registry();
collectDefaultMetrics({ register: registry });
const kubeMetrics = new KubeMetrics(registry);
const transport = KubeTransport.fromDefault({ userAgent: "joypod-operator", metrics: kubeMetrics.requests });
const operator = new Operator({ transport, config, clock: systemClock, logger, registry, kubeMetrics });
const health = new HealthServer({ registry, unreadyBecause: () => operator.unreadyBecause() });
const elector = new LeaderElector({
  transport, logger, ...config.leaderLease,
  // Writes of a leader that is none any more could undo those of the next: nothing may be sent after this.
  onLost: () => process.exit(1),
});
const stopping = new AbortController();

function readConfig(): Config {
  try {
    return parseConfig(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

async function run(): Promise<void> {
  const port = await health.listen(config.httpPort);
  logger.info({ port, sessionsNamespace: config.sessionsNamespace }, "The operator starts.");
  await operator.watch(stopping.signal);
  compactHeap();
  await elector.start();
  await operator.lead(stopping.signal);
  logger.info({}, "The operator is at work.");
}

async function stop(signal: string): Promise<void> {
  if (stopping.signal.aborted) return;
  logger.info({ signal }, "The operator stops.");
  stopping.abort();
  void delay(shutdownMs, undefined, { ref: false }).then(() => {
    logger.error({}, "The operator could not stop in time.");
    process.exit(1);
  });
  await operator.stop();
  await elector.stop();
  await transport.close();
  await health.close();
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    stop(signal).catch((error: unknown) => {
      logger.error({ err: error }, "The operator could not stop in good order.");
      process.exit(1);
    });
  });
}

run().catch((error: unknown) => {
  if (stopping.signal.aborted) return;
  logger.error({ err: error }, "The operator could not start.");
  process.exit(1);
});
