import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

/** What the health server tells. */
export interface HealthDeps {
  registry: Registry;
  /** Why the program is not ready, or undefined when it is. */
  unreadyBecause: () => string | undefined;
}

/** Serves /healthz, /readyz and /metrics. */
export class HealthServer {
  readonly #server: Server;

  constructor({ registry, unreadyBecause }: HealthDeps) {
    this.#server = createServer((request, response) => {
      const respond = (status: number, body: string, type = "text/plain; charset=utf-8"): void => {
        response.writeHead(status, { "content-type": type }).end(body);
      };
      const path = new URL(request.url ?? "/", "http://localhost").pathname;
      if (path === "/healthz") respond(200, "ok\n");
      else if (path === "/readyz") {
        const reason = unreadyBecause();
        respond(reason === undefined ? 200 : 503, `${reason ?? "ok"}\n`);
      } else if (path === "/metrics") {
        registry.metrics().then((text) => respond(200, text, registry.contentType), (error: unknown) => respond(500, String(error)));
      } else respond(404, "Not found: ask for /healthz, /readyz or /metrics.\n");
    });
    this.#server.requestTimeout = 10_000;
  }

  /** Begins to listen; gives the port, which is chosen when 0 was asked for. */
  async listen(port: number): Promise<number> {
    this.#server.listen(port);
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
