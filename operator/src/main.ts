import { collectDefaultMetrics, Registry } from "prom-client";
import { systemClock } from "#runtime/clock.ts";
import { compactHeap } from "#runtime/compactHeap.ts";
import { createLogger } from "#runtime/createLogger.ts";
import { HealthServer } from "#runtime/healthServer.ts";
import { logConsole } from "#runtime/logConsole.ts";
import { orExit, runProgram } from "#runtime/program.ts";
import { LeaderElector } from "#kube/leaderElector.ts";
import { KubeMetrics, showLeader } from "#kube/metrics.ts";
import { KubeTransport } from "#kube/transport.ts";
import { readConfig } from "./config.ts";
import { Operator } from "./operator.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "operator", level: config.logLevel });
logConsole(logger);
const registry = new Registry();
collectDefaultMetrics({ register: registry });
const kubeMetrics = new KubeMetrics(registry);
const transport = KubeTransport.fromDefault({ userAgent: "joypod-operator", metrics: kubeMetrics.requests });
const operator = new Operator({ transport, config, clock: systemClock, logger, registry, kubeMetrics });
const health = new HealthServer({ registry, unreadyBecause: () => operator.unreadyBecause() });
// A connection of its own: a renewal must not be sent on one that died while it was idle.
const leaseTransport = KubeTransport.fromDefault({ userAgent: "joypod-operator", metrics: kubeMetrics.requests });
const elector = new LeaderElector({
  transport: leaseTransport, logger, ...config.leaderLease,
  // Writes of a leader that is none any more could undo those of the next: nothing may be sent after this.
  onLost: () => process.exit(1),
});
showLeader(registry, "operator", () => elector.isLeader);

async function start(stopping: AbortSignal): Promise<void> {
  const port = await health.start(config.httpPort);
  logger.info({ port, sessionsNamespace: config.sessionsNamespace }, "The operator starts.");
  await operator.watch(stopping);
  compactHeap();
  await elector.start();
  await operator.lead(stopping);
  logger.info({}, "The operator is at work.");
}

async function stop(): Promise<void> {
  await operator.stop();
  await elector.stop();
  await Promise.all([transport.close(), leaseTransport.close()]);
  await health.stop();
}

runProgram({ logger, start, stop, stopDeadlineMs: 15_000 });
