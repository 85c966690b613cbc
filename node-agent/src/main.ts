import { systemClock } from "#runtime/scheduling/clock.ts";
import { compactHeap } from "#runtime/program/compactHeap.ts";
import { createLogger, logConsole } from "#runtime/program/createLogger.ts";
import { HealthServer } from "#runtime/program/healthServer.ts";
import { orExit, runProgram } from "#runtime/program/program.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { Agent } from "./agent.ts";
import { readConfig } from "./config.ts";
import { createMetrics } from "./metrics.ts";

// Files get exactly the modes the agent gives them.
process.umask(0o022);
const config = orExit(() => readConfig(process.env));
const logger = createLogger({
  program: "node-agent",
  level: config.logLevel,
  bindings: { node: config.node },
});
logConsole(logger);
const metrics = createMetrics(config.node);
const transport = KubeTransport.fromDefault({
  userAgent: "joypod-node-agent",
  metrics: metrics.kube.requests,
});
const agent = new Agent({
  config,
  transport,
  clock: systemClock,
  random: Math.random,
  logger,
  metrics,
  onLockLost,
});
const health = new HealthServer({ registry: metrics.registry, notReadyReason: () => agent.notReadyReason() });

async function start(stopping: AbortSignal): Promise<void> {
  const port = await health.start(config.httpPort);
  await agent.start(stopping);
  compactHeap();
  logger.info({ port, root: config.root }, "The node agent serves this node.");
}

async function stop(): Promise<void> {
  await agent.stop();
  await health.stop();
  await transport.close();
}

function onLockLost(): void {
  logger.error({ root: config.root }, "The lock of this node's folder was lost. The node agent exits.");
  process.exit(1);
}

runProgram({ logger, start, stop, stopDeadlineMs: 20_000 });
