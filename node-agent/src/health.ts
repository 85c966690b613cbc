import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

export interface HealthOptions {
  port: number;
  registry: Registry;
  /** Why the agent is not ready; undefined when it is. */
  unready: () => string | undefined;
}

/** `/healthz`, `/readyz` and `/metrics`. */
export interface HealthServer {
  port: number;
  close(): Promise<void>;
}

export async function startHealthServer({ port, registry, unready }: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => void response.writeHead(status, { "content-type": type }).end(body);
    if (request.url === "/healthz") answer(200, "text/plain", "ok\n");
    else if (request.url === "/readyz") answer(unready() === undefined ? 200 : 503, "text/plain", `${unready() ?? "ok"}\n`);
    else if (request.url === "/metrics") {
      registry.metrics().then(
        (text) => answer(200, registry.contentType, text),
        () => answer(500, "text/plain", "The metrics could not be read.\n"),
      );
    } else answer(404, "text/plain", "Only /healthz, /readyz and /metrics are here.\n");
  });
  await listen(server, port);
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
}
