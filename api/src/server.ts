import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const limits = { connections: 10_000, headerBytes: 16 * 1024, headersTimeoutMs: 15_000, checkingIntervalMs: 5_000, keepAliveMs: 65_000 };

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * An HTTP server that cuts slow headers but lets a long upload take its time: bodies have deadlines of their own. A client
 * that asks before it sends a body (`Expect: 100-continue`) is told to by whoever reads the body, so after all checks.
 */
export function createHttpServer(handler: Handler): Server {
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: limits.checkingIntervalMs,
    keepAliveTimeout: limits.keepAliveMs,
    requireHostHeader: true,
  }, (request, response) => void handler(request, response));
  server.maxConnections = limits.connections;
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => void handler(request, response));
  server.on("clientError", (error: Error & { code?: string }, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return;
    socket.end(refusals[error.code ?? ""] ?? refusal("400 Bad Request", "invalid_request"));
  });
  return server;
}

const refusals: Record<string, string> = {
  HPE_HEADER_OVERFLOW: refusal("431 Request Header Fields Too Large", "invalid_request"),
  ERR_HTTP_REQUEST_TIMEOUT: refusal("408 Request Timeout", "request_timeout"),
};

/** Written by hand: there is no request yet that could be answered. */
function refusal(status: string, error: string): string {
  const body = JSON.stringify({ error });
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

/** Resolves with the port once it listens. */
export async function listen(server: Server, port: number, host?: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Takes no more requests, lets running ones end for at most `graceMs`, then cuts what is left. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const controller = new AbortController();
  await Promise.race([closed, delay(graceMs, undefined, { signal: controller.signal }).catch(() => undefined)]);
  controller.abort();
  server.closeAllConnections();
  await closed;
}
