import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { whep, WhepClientId, type StreamerStatus } from "#contracts/stream.ts";
import { NotReady, Unauthorized, WhepRequestError } from "../errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { TicketHolder } from "../transport/viewer.ts";
import type { Viewers } from "../transport/viewers.ts";
import { readText } from "./body.ts";
import type { Tickets } from "./tickets.ts";

const requestDeadlineMs = 10_000;
const headersDeadlineMs = 5_000;
const maxConnections = 128;

export interface SignalServerOptions {
  port: number;
  log: Logger;
  /** The viewers once the streamer is ready, undefined before and while it stops. */
  viewers: () => Viewers | undefined;
  /** Returns the same, but waits a bounded time for the viewers while the streamer starts. */
  awaitViewers: () => Promise<Viewers | undefined>;
  /** The session of this pod; offers that name another one fail as not ready. */
  sessionId: string;
  tickets: Tickets;
  status: () => StreamerStatus;
  metrics: () => string;
}

interface HttpResponse {
  status: number;
  body?: string;
  type?: string;
  headers?: Record<string, string>;
}

/** Serves WHEP to viewers with a ticket, status and metrics to the operator, and probes to everybody. */
export function createSignalServer(options: SignalServerOptions): Server {
  const server = createServer(
    { requestTimeout: requestDeadlineMs, headersTimeout: headersDeadlineMs },
    (request, response) => {
      void serve(request, response, options);
    },
  );
  server.maxConnections = maxConnections;
  return server.listen(options.port);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: SignalServerOptions,
): Promise<void> {
  let result: HttpResponse;
  try {
    result = await route(request, options);
  } catch (error) {
    result = presentError(error, options.log);
  }
  const { status, body = "", type = "text/plain; charset=utf-8", headers = {} } = result;
  // What was not read of the body must not be taken for the next request.
  if (!request.complete) headers["connection"] = "close";
  response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...headers });
  response.end(body);
}

function route(request: IncomingMessage, options: SignalServerOptions): HttpResponse | Promise<HttpResponse> {
  const url = new URL(request.url ?? "/", "http://streamer");
  const { method = "GET" } = request;
  if (url.pathname === whep.path || url.pathname.startsWith(`${whep.path}/`))
    return routeViewer(request, url, options);
  if (method !== "GET" && method !== "HEAD") return { status: 405, headers: { allow: "GET" } };
  switch (url.pathname) {
    case "/healthz":
      return { status: 200, body: "ok\n" };
    case "/readyz":
      return options.viewers()
        ? { status: 200, body: "ready\n" }
        : { status: 503, body: "starting or stopping\n" };
    case "/status":
      options.tickets.admitOperator(request);
      return json(200, options.status());
    case "/metrics":
      options.tickets.admitOperator(request);
      return { status: 200, type: "text/plain; version=0.0.4", body: options.metrics() };
    default:
      return { status: 404, body: "not found\n" };
  }
}

/** Without a ticket nobody learns which connections or methods there are. */
function routeViewer(
  request: IncomingMessage,
  { pathname, searchParams }: URL,
  options: SignalServerOptions,
): HttpResponse | Promise<HttpResponse> {
  const named = request.headers[whep.sessionHeader];
  // The address belonged to another session's pod when the API looked it up: its offer can be sent again.
  if (named !== undefined && named !== options.sessionId) throw new NotReady();
  const holder = options.tickets.admitViewer(request);
  const isEndpoint = pathname === whep.path;
  if (isEndpoint && request.method === "POST") return handleOffer(request, searchParams, holder, options);
  if (!isEndpoint && request.method === "DELETE")
    return hangUp(pathname.slice(whep.path.length + 1), holder, options);
  return { status: 405, headers: { allow: isEndpoint ? "POST" : "DELETE" } };
}

async function handleOffer(
  request: IncomingMessage,
  query: URLSearchParams,
  holder: TicketHolder,
  options: SignalServerOptions,
): Promise<HttpResponse> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== whep.contentType)
    throw new WhepRequestError("unsupported_media_type", `Send the offer as ${whep.contentType}.`);
  const parameters = readQuery(query);
  const sdp = await readText(request, whep.maxOfferBytes);
  const viewers = await options.awaitViewers();
  // A browser that left meanwhile must not become a viewer.
  if (!viewers || request.socket.destroyed) throw new NotReady();
  const { id, sdpAnswer } = await viewers.connect({ sdp, holder, ...parameters });
  return {
    status: 201,
    body: sdpAnswer,
    type: whep.contentType,
    headers: { location: `${whep.path}/${id}` },
  };
}

function readQuery(query: URLSearchParams): { client: string | undefined; takeover: boolean } {
  const client = WhepClientId.optional().safeParse(query.get(whep.clientParameter) ?? undefined);
  if (!client.success)
    throw new WhepRequestError(
      "invalid_query",
      `${whep.clientParameter} must be 8 to 64 letters, digits, - or _.`,
    );
  const takeover = query.get(whep.takeoverParameter);
  if (takeover !== null && takeover !== "true" && takeover !== "false") {
    throw new WhepRequestError("invalid_query", `${whep.takeoverParameter} must be true or false.`);
  }
  return { client: client.data, takeover: takeover === "true" };
}

/** To hang up twice is ordinary: a page that unloads cannot know whether the streamer has noticed already. */
function hangUp(id: string, holder: TicketHolder, { viewers }: SignalServerOptions): HttpResponse {
  return viewers()?.disconnect(id, holder) === true
    ? { status: 200 }
    : json(404, { error: "not_found", message: "This connection is not there (any more)." });
}

function presentError(error: unknown, log: Logger): HttpResponse {
  if (error instanceof WhepRequestError) {
    const headers =
      error instanceof Unauthorized ? { "www-authenticate": 'Bearer realm="joypod streams"' } : {};
    return { ...json(error.status, { error: error.code, message: error.message }), headers };
  }
  log.error({ err: error }, "A signalling request failed.");
  return { status: 500, body: "internal error\n" };
}

function json(status: number, body: unknown): HttpResponse {
  return { status, body: JSON.stringify(body), type: "application/json" };
}
