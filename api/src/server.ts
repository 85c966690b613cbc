import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { cutStalledAnswers } from "./stalledAnswers.ts";

/** What one server grants to all its clients. */
export interface ServerLimits {
  connections: number;
  /** From a request's first byte to the end of its headers. */
  headersTimeoutMs: number;
  /** How long a client may take nothing of an answer that waits for it. */
  stalledAnswerMs: number;
  /** Between looks at both. */
  checkingIntervalMs: number;
}

const headerBytes = 16 * 1024;
const keepAliveMs = 65_000;
/** A refused client may read the reason for so long. */
const lingerMs = 1_000;
const idleCheckMs = 50;

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * An HTTP server that cuts slow headers and clients that do not read, but lets a long upload take its time: bodies have
 * deadlines of their own. A client that asks before it sends a body (`Expect: 100-continue`) is told to by whoever reads the
 * body, so after all checks.
 */
export function createHttpServer(handler: Handler, limits: ServerLimits): Server {
  const server = createServer({
    maxHeaderSize: headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: limits.checkingIntervalMs,
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: true,
  }, (request, response) => void handler(request, response));
  server.maxConnections = limits.connections;
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => void handler(request, response));
  server.on("clientError", refuse);
  cutStalledAnswers(server, limits);
  return server;
}

/** Answers what is no request, by hand: there is none yet that could be answered. The connection ends with it. */
function refuse(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(refusals[error.code ?? ""] ?? refusal("400 Bad Request", "invalid_request"));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

const refusals: Record<string, string> = {
  HPE_HEADER_OVERFLOW: refusal("431 Request Header Fields Too Large", "invalid_request"),
  ERR_HTTP_REQUEST_TIMEOUT: refusal("408 Request Timeout", "request_timeout"),
};

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

/** Takes no more connections, lets running requests end for at most `graceMs`, then cuts what is left. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // An answer that was begun before kept its connection alive: it is idle from the answer's end on.
  const idleCheck = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const controller = new AbortController();
  await Promise.race([closed, delay(graceMs, undefined, { signal: controller.signal }).catch(() => undefined)]);
  controller.abort();
  clearInterval(idleCheck);
  server.closeAllConnections();
  await closed;
}
