import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { ServerErrors } from "./serverErrors.ts";

/** Limits of a server for all its clients. */
interface ServerLimits {
  connections: number;
  /** From the first byte of a request to the end of its headers. */
  headersTimeoutMs: number;
  /** How long a client may leave a response unread. */
  stalledResponseMs: number;
  /** Interval of both checks. */
  checkingIntervalMs: number;
}

/** Configuration of a server. */
interface ServerConfig {
  /** Whether browsers use https. */
  isSecure: boolean;
  /** Name of the credential cookie, which may be longer than other headers. */
  sessionCookie: string;
  http: ServerLimits;
}

const keepAliveMs = 65_000;
const connectionCheckMs = 50;

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Creates an HTTP server that closes connections with slow headers or clients that do not read, but allows
 * long uploads, because bodies have their own deadlines. `Expect: 100-continue` is answered by the code that
 * reads the body, after all checks. Other expectations are ignored.
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

/** Resolves with the port when the server listens. */
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

/** Reason not to send requests to the server; undefined while it accepts them. */
export function notReadyReason(
  { listening }: Pick<Server, "listening">,
  { isStopping }: { isStopping: boolean },
): string | undefined {
  if (isStopping) return "The server is stopping.";
  return listening ? undefined : "The server does not listen yet.";
}

/** Phases of a shutdown, in milliseconds. */
interface DrainTimes {
  /** Until every proxy has removed the server. Before that, the port must not refuse connections. */
  proxiesMs: number;
  /** Maximum time after that for the last request of each client. */
  clientsMs: number;
}

/**
 * Resolves when proxies send no new connections and kept-alive connections are closed, within the given
 * times. Each connection is closed by the response to its next request, because closing an idle connection
 * could drop a request in flight. Resolves immediately if the server never listened.
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

/** Stops accepting connections, waits up to `graceMs` for running requests, then closes the rest. */
export async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A response that began earlier kept its connection alive; it becomes idle when the response ends.
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

/** Maximum size of a request's head without its credentials. */
const headBytes = 16 * 1024;
/**
 * An overlong credential is still read, so that the error is about the credential and not about the headers.
 */
const credentialBytes = 100 * 1024;
/**
 * Only one of this many connections may send an overlong credential, which bounds the memory of all
 * connections.
 */
const connectionsPerRoomyOne = 20;

/**
 * Limits the size of request heads. Node reads the limit when a connection opens, so it can differ: the first
 * connections get the larger limit, later ones the smaller.
 */
function boundHeaders(server: Server, connectionsMax: number): void {
  const roomyMax = Math.ceil(connectionsMax / connectionsPerRoomyOne);
  let open = 0;
  server.prependListener("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
    Object.assign(server, { maxHeaderSize: open <= roomyMax ? headBytes + credentialBytes : headBytes });
  });
}

/** Returns whether a head is too long even without its credentials: an API key, or the session cookie. */
function isHeadTooLarge(
  { url = "", rawHeaders, headers: { cookie = "", authorization = "" } }: IncomingMessage,
  { sessionCookie: name }: { sessionCookie: string },
): boolean {
  let bytes = url.length;
  for (const part of rawHeaders) bytes += part.length;
  if (bytes <= headBytes) return false;
  const sessionCookie = cookie.split(";").find((pair) => pair.trimStart().startsWith(`${name}=`)) ?? "";
  return bytes - sessionCookie.length - authorization.length > headBytes;
}

interface Progress {
  /** Bytes that the client has received. */
  taken: number;
  sinceMs: number;
}

/**
 * Closes connections whose client does not read its response, because each holds the response in memory.
 * Unsent bytes are checked periodically, which adds no cost per request.
 */
function cutStalledResponses(
  server: Server,
  { stalledResponseMs, checkingIntervalMs }: { stalledResponseMs: number; checkingIntervalMs: number },
): void {
  const connections = new Map<Socket, Progress>();
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { taken: 0, sinceMs: performance.now() });
    socket.once("close", () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, progress] of connections) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== progress.taken)
        connections.set(socket, { taken, sinceMs: nowMs });
      // A graceful end would leave the sent part of the response to the kernel, and the client could take
      // days to read it.
      else if (nowMs - progress.sinceMs >= stalledResponseMs) socket.resetAndDestroy();
    }
  }, checkingIntervalMs);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}
