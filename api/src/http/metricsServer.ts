import type { Server } from "node:http";
import type { Logger } from "#runtime/logger.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { createHttpServer, type ServerConfig } from "./server.ts";

/** `/metrics` on a port of its own, which no player's request ever reaches. */
export function createMetricsServer({ registry }: Metrics, config: ServerConfig, logger: Logger): Server {
  return createHttpServer(async (request, response) => {
    if (request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    try {
      const text = await registry.metrics();
      response.writeHead(200, { "Content-Type": registry.contentType }).end(text);
    } catch {
      response.writeHead(500).end();
    }
  }, config, logger);
}
