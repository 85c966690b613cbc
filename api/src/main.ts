import { systemClock } from "#runtime/scheduling/clock.ts";
import { compactHeap } from "#runtime/program/compactHeap.ts";
import { createLogger, logConsole } from "#runtime/program/createLogger.ts";
import { HealthServer } from "#runtime/program/healthServer.ts";
import { lowerHelperThreads, orExit, runProgram } from "#runtime/program/program.ts";
import { showLeader } from "#kube/controllers/metrics.ts";
import { createApp } from "./app.ts";
import { createBackground, createStoreWatch } from "./background/background.ts";
import { configWarnings, readConfig, secretLogKeys } from "./config.ts";
import { closeDeps, createDeps } from "./createDeps.ts";
import { readWebPages } from "./http/serveWeb.ts";
import { close, createHttpServer, drain, listen, notReadyReason } from "./http/server.ts";

lowerHelperThreads();
const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "api", level: config.logLevel, secretKeys: secretLogKeys });
logConsole(logger);
const deps = createDeps(config, logger);
const pages = config.webRoot === undefined ? undefined : await readWebPages(config.webRoot);
const background = createBackground(deps);
const storeWatch = createStoreWatch(deps);
showLeader(deps.metrics.registry, "api", () => background.isLeader);
const server = createHttpServer(createApp(deps, pages).callback(), config, logger);
// Probed by the kubelet. Stores do not affect it: during a store outage this process must still return errors
// to callers instead of losing its Service endpoint.
const health = new HealthServer({
  registry: deps.metrics.registry,
  notReadyReason: () => notReadyReason(server, deps.lifecycle),
});

async function start(): Promise<void> {
  await background.start();
  storeWatch.start();
  compactHeap();
  await health.start(config.metricsPort);
  await listen(server, config.port);
  deps.passwords
    .warmUp()
    .catch((error: unknown) => logger.warn({ err: error }, "The password threads did not start."));
  for (const warning of configWarnings(config)) logger.warn({ warning }, "The configuration looks unsafe.");
  logger.info(
    { port: config.port, metricsPort: config.metricsPort, baseUrl: config.baseUrl },
    "The API serves requests.",
  );
}

/**
 * Serves requests until proxies have noticed the shutdown, then lets open ones finish for a while. Leadership
 * is handed over immediately.
 */
async function stop(): Promise<void> {
  deps.lifecycle.isStopping = true;
  const proxiesMs = config.shutdownDelaySeconds * 1000;
  const shutdownMs = config.shutdownSeconds * 1000;
  const clientsMs = Math.min(2 * proxiesMs, shutdownMs / 2);
  await Promise.all([background.resign(), drain(server, systemClock, { proxiesMs, clientsMs })]);
  deps.gameSessionEvents.close();
  await close(server, shutdownMs - clientsMs);
  await Promise.all([background.stop(), storeWatch.stop()]);
  await health.stop();
  await closeDeps(deps);
}

runProgram({
  logger,
  start,
  stop,
  stopDeadlineMs: (config.shutdownDelaySeconds + config.shutdownSeconds + 5) * 1000,
});
