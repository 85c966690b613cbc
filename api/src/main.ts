import { once } from "node:events";
import { format } from "node:util";
import { compactHeap } from "#runtime/compactHeap.ts";
import { createApp } from "./app.ts";
import { createBackground } from "./background/background.ts";
import { configWarnings, parseConfig } from "./config.ts";
import { closeDeps, createDeps } from "./createDeps.ts";
import { lowerHelperThreads } from "./runtime/helperThreads.ts";
import { createLogger } from "./runtime/logger.ts";
import { createMetricsServer } from "./http/metricsServer.ts";
import { readWebPages } from "./http/serveWeb.ts";
import { close, createHttpServer, listen } from "./http/server.ts";

lowerHelperThreads();
const config = parseConfig(process.env);
const logger = createLogger({ level: config.logLevel });
const deps = createDeps(config, logger);
const pages = config.webRoot === undefined ? undefined : await readWebPages(config.webRoot);
const background = createBackground(deps);
const server = createHttpServer(createApp(deps, pages).callback(), config, logger);
const metricsServer = createMetricsServer(deps.metrics, config, logger);

// What libraries and Node.js itself write becomes lines of the log, too, so that all output is JSON.
const said = (...words: unknown[]): void => logger.warn({ said: format(...words) }, "Something was written past the log.");
Object.assign(console, { log: said, info: said, debug: said, warn: said, error: said });
process.removeAllListeners("warning").on("warning", (warning) => logger.warn({ err: warning }, "Node.js emitted a warning."));

process.on("unhandledRejection", (error) => {
  logger.error({ err: error }, "A rejected promise was not handled; the API ends, because its state is unknown.");
  process.exit(1);
});

await background.start();
compactHeap();
await listen(metricsServer, config.metricsPort);
await listen(server, config.port);
deps.passwords.warmUp().catch((error: unknown) => logger.warn({ err: error }, "The password threads did not start."));
for (const doubt of configWarnings(config)) logger.warn({ doubt }, "The configuration looks unsafe.");
logger.info({ port: config.port, metricsPort: config.metricsPort, baseUrl: config.baseUrl }, "The API serves requests.");

const signal = await Promise.race([once(process, "SIGTERM").then(() => "SIGTERM"), once(process, "SIGINT").then(() => "SIGINT")]);
logger.info({ signal }, "The API stops; open requests may finish.");
deps.lifecycle.isStopping = true;
deps.gameSessionEvents.close();
// Whatever hangs, the process ends.
setTimeout(() => process.exit(1), (config.shutdownSeconds + 5) * 1000).unref();
await close(server, config.shutdownSeconds * 1000);
await background.stop();
await close(metricsServer, 1000);
await closeDeps(deps);
logger.info({}, "The API has stopped.");
process.exit(0);
