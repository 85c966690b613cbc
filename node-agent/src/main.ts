import { systemClock } from "#runtime/clock.ts";
import { compactHeap } from "#runtime/compactHeap.ts";
import { KubeTransport } from "#kube/transport.ts";
import { startAgent, type Agent } from "./agent.ts";
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
const stopping = new AbortController();
let agent: Agent | undefined;
let isStopping = false;
const health = await startHealthServer({
  port: config.httpPort, registry: metrics.registry,
  unready: () => agent === undefined ? "The agent has not started: another one may still serve this node." : agent.unready(),
});

function stop(signal: NodeJS.Signals): void {
  if (isStopping) return;
  isStopping = true;
  logger.info({ signal }, "The node agent stops.");
  stopping.abort(new Error(`The node agent was told to stop: ${signal}.`));
  const timer = setTimeout(() => process.exit(1), stopDeadlineMs);
  Promise.resolve(agent?.stop()).then(() => health.close()).then(() => transport.close()).then(() => {
    clearTimeout(timer);
    process.exit(0);
  }).catch((error: unknown) => {
    logger.error({ err: error }, "The node agent did not stop in good order.");
    process.exit(1);
  });
}

process.on("SIGTERM", stop);
process.on("SIGINT", stop);

function onLockLost(): void {
  logger.error({ root: config.root }, "The lock of this node's folder was lost: the node agent ends at once.");
  process.exit(1);
}

try {
  agent = await startAgent({ config, transport, clock: systemClock, random: Math.random, logger, metrics, onLockLost, signal: stopping.signal });
  compactHeap();
  logger.info({ port: health.port, root: config.root }, "The node agent serves this node.");
} catch (error) {
  if (!stopping.signal.aborted) throw error;
}
