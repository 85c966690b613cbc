import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { boundHeaders, isHeadTooLarge } from "./headerLimits.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { ServerErrors } from "./serverErrors.ts";
import { cutStalledResponses } from "./stalledResponses.ts";

/** What one server grants to all its clients. */
export interface ServerLimits {
  connections: number;
  /** From a request's first byte to the end of its headers. */
  headersTimeoutMs: number;
  /** How long a client may take nothing of a response that waits for it. */
  stalledResponseMs: number;
  /** Between looks at both. */
  checkingIntervalMs: number;
}

/** What a server is told of its place and its bounds. */
export interface ServerConfig {
  /** Browsers come by https. */
  isSecure: boolean;
  /** Name of the cookie that is a credential: it may be longer than other headers. */
  sessionCookie: string;
  http: ServerLimits;
}

const keepAliveMs = 65_000;
const connectionCheckMs = 50;

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * An HTTP server that cuts slow headers and clients that do not read, but lets a long upload take its time,
 * because bodies have deadlines of their own. A client that asks before it sends a body (`Expect:
 * 100-continue`) is told to send it by the code that reads the body, so after all checks. Other expectations
 * are ignored, which harms nobody.
 */
export function createHttpServer(handler: Handler, config: ServerConfig, logger: Logger): Server {
  const limits = config.http;
  const errors = new ServerErrors(config, logger);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    errors.begin(request, response);
    if (request.headers.host === undefined && request.httpVersion === "1.1")
      errors.refuseRequest("invalid_request", response);
    else if (isHeadTooLarge(request, config)) errors.refuseRequest("headers_too_large", response);
    else void handler(request, response);
  };
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: 0,
      connectionsCheckingInterval: limits.checkingIntervalMs,
      keepAliveTimeout: keepAliveMs,
      requireHostHeader: false, // Node's own error response has no body and no headers.
    },
    serve,
  );
  server.maxConnections = limits.connections;
  boundHeaders(server, limits.connections);
  server.on("checkContinue", serve);
  server.on("checkExpectation", serve);
  server.on("connect", (_: IncomingMessage, socket: Socket) =>
    errors.refuseConnection("method_not_allowed", socket, { Allow: "GET, HEAD, OPTIONS" }),
  );
  server.on("clientError", (error: Error & { code?: string }, socket: Socket) =>
    errors.refuseBytes(error, socket),
  );
  cutStalledResponses(server, limits);
  return server;
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

/** Why no request should be sent to the server; undefined while it takes them. */
export function unreadyBecause(
  { listening }: Pick<Server, "listening">,
  { isStopping }: { isStopping: boolean },
): string | undefined {
  if (isStopping) return "The server is stopping.";
  return listening ? undefined : "The server does not listen yet.";
}

/** How long a server goes on as before when it is told to end, in milliseconds. */
export interface DrainTimes {
  /** Until every proxy knows of the end: before, the port must refuse no connection. */
  proxiesMs: number;
  /** After that, at most, until the last client has asked once more. */
  clientsMs: number;
}

/**
 * Resolves when proxies send no more connections, and those that clients kept are gone, as far as time
 * allows. The response to its next request ends each: one that was closed while it is idle would take along a
 * request that is on its way. Resolves at once where the server never listened.
 */
export async function drain(
  server: Server,
  clock: Clock,
  { proxiesMs, clientsMs }: DrainTimes,
): Promise<void> {
  if (!server.listening) return;
  await clock.sleep(proxiesMs);
  const endMs = clock.monotonicMs() + clientsMs;
  while (clock.monotonicMs() < endMs && (await countConnections(server)) > 0)
    await clock.sleep(connectionCheckMs);
}

function countConnections(server: Server): Promise<number> {
  return promisify(server.getConnections.bind(server))();
}

/** Takes no more connections, lets running requests end for at most `graceMs`, then cuts what is left. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A response that was begun before kept its connection alive: it is idle from the response's end on.
  const idleCheck = setInterval(() => server.closeIdleConnections(), connectionCheckMs);
  const controller = new AbortController();
  await Promise.race([
    closed,
    delay(graceMs, undefined, { signal: controller.signal }).catch(() => undefined),
  ]);
  controller.abort();
  clearInterval(idleCheck);
  server.closeAllConnections();
  await closed;
}
