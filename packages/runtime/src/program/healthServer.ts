import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

/** Options of the health server. */
export interface HealthServerOptions {
  registry: Pick<Registry, "metrics" | "contentType">;
  /**
   * Returns why the program is not ready; undefined if it is. Absent if Kubernetes probes the program in
   * another way.
   */
  notReadyReason?: () => string | undefined;
}

const requestTimeoutMs = 10_000;

/** Serves /metrics and, with `notReadyReason`, /healthz and /readyz on a separate port. */
export class HealthServer {
  readonly #options: HealthServerOptions;
  readonly #server: Server;

  constructor(options: HealthServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#respond(request.url?.split("?")[0], response));
    this.#server.requestTimeout = requestTimeoutMs;
  }

  /** Listens and returns the port. Port 0 selects a free one. Rejects if the port is in use. */
  async start(port: number): Promise<number> {
    this.#server.listen(port);
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** Closes all connections. Resolves when the port is free. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #respond(path: string | undefined, response: ServerResponse): void {
    const { registry, notReadyReason } = this.#options;
    if (path === "/metrics") {
      registry.metrics().then(
        (text) => respond(response, 200, text, registry.contentType),
        () => respond(response, 500, "The metrics could not be read.\n"),
      );
    } else if (path === "/healthz" && notReadyReason !== undefined) {
      respond(response, 200, "ok\n");
    } else if (path === "/readyz" && notReadyReason !== undefined) {
      const reason = notReadyReason();
      respond(response, reason === undefined ? 200 : 503, `${reason ?? "ok"}\n`);
    } else {
      respond(
        response,
        404,
        `Not found: ask for ${notReadyReason === undefined ? "" : "/healthz, /readyz or "}/metrics.\n`,
      );
    }
  }
}

function respond(
  response: ServerResponse,
  status: number,
  body: string,
  type = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": type }).end(body);
}
