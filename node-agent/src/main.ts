import { systemClock } from "#kube/clock.ts";
import { compactHeap } from "#kube/compactHeap.ts";
import { KubeTransport } from "#kube/transport.ts";
import { startAgent } from "./agent.ts";
import { readConfig } from "./config.ts";
import { startHealthServer } from "./health.ts";
import { createLogger } from "./logger.ts";
import { createMetrics } from "./metrics.ts";

/** Time for an orderly end; the pod's grace is longer. */
const stopDeadlineMs = 20_000;

// Files get exactly the modes the agent gives them.
process.umask(0o022);
const config = readConfig(process.env);
const logger = createLogger({ level: config.logLevel, node: config.node });
const metrics = createMetrics();
const transport = KubeTransport.fromDefault({ userAgent: "joypod-node-agent" });
const agent = await startAgent({ config, transport, clock: systemClock, random: Math.random, logger, metrics });
compactHeap();
const health = await startHealthServer({ port: config.httpPort, registry: metrics.registry, unready: () => agent.unready() });
logger.info({ port: health.port, root: config.root }, "The node agent serves this node.");

let isStopping = false;

function stop(signal: NodeJS.Signals): void {
  if (isStopping) return;
  isStopping = true;
  logger.info({ signal }, "The node agent stops.");
  const timer = setTimeout(() => process.exit(1), stopDeadlineMs);
  agent.stop().then(() => health.close()).then(() => transport.close()).then(() => {
    clearTimeout(timer);
    process.exit(0);
  }).catch((error: unknown) => {
    logger.error({ err: error }, "The node agent did not stop in good order.");
    process.exit(1);
  });
}

process.on("SIGTERM", stop);
process.on("SIGINT", stop);
