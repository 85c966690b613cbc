import { collectDefaultMetrics, Registry } from "prom-client";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { compactHeap } from "#runtime/program/compactHeap.ts";
import { createLogger, logConsole } from "#runtime/program/createLogger.ts";
import { HealthServer } from "#runtime/program/healthServer.ts";
import { orExit, runProgram } from "#runtime/program/program.ts";
import { KubeMetrics, showLeader } from "#kube/controllers/metrics.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { readConfig } from "./config.ts";
import { Operator } from "./operator.ts";
import { Terms } from "./terms.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "operator", level: config.logLevel });
logConsole(logger);
const registry = new Registry();
collectDefaultMetrics({ register: registry });
const kubeMetrics = new KubeMetrics(registry);
const connect = (): KubeTransport =>
  KubeTransport.fromDefault({ userAgent: "joypod-operator", metrics: kubeMetrics.requests });
// Uses a separate connection, because a renewal must not be sent on one that died while idle.
const leaseTransport = connect();
const terms = new Terms({
  connect,
  logger,
  election: { transport: leaseTransport, logger, ...config.leaderLease },
  createOperator: (transport, own) =>
    new Operator({ transport, config, clock: systemClock, logger, registry: own, kubeMetrics }),
});
const health = new HealthServer({
  registry: {
    contentType: registry.contentType,
    metrics: () => Registry.merge([registry, terms.registry]).metrics(),
  },
  notReadyReason: () => terms.notReadyReason(),
});
showLeader(registry, "operator", () => terms.isLeader);

async function start(stopping: AbortSignal): Promise<void> {
  const port = await health.start(config.httpPort);
  logger.info({ port, sessionsNamespace: config.sessionsNamespace }, "The operator is starting.");
  await terms.run(stopping, compactHeap);
}

async function stop(): Promise<void> {
  await terms.stop();
  await leaseTransport.close();
  await health.stop();
}

runProgram({ logger, start, stop, stopDeadlineMs: 15_000 });
