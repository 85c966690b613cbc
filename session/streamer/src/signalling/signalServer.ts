import type { IncomingMessage, Server } from "node:http";
import { whep, WhepClientId, type StreamerStatus } from "#contracts/stream.ts";
import type { Logger } from "#runtime/logger.ts";
import { DomainError, notReady } from "../errors.ts";
import type { TicketHolder } from "../transport/viewer.ts";
import type { Viewers } from "../transport/viewers.ts";
import { createHttpServer, json, readText, type HttpResponse } from "./http.ts";
import type { Tickets } from "./tickets.ts";

const requestDeadlineMs = 10_000;
const headersDeadlineMs = 5_000;
const maxConnections = 128;

export interface SignalServerOptions {
  port: number;
  logger: Logger;
  /** Returns the viewers while the streamer is ready; undefined while it starts or stops. */
  viewers: () => Viewers | undefined;
  /** Like `viewers`, but waits a bounded time for a streamer that is starting. */
  awaitViewers: () => Promise<Viewers | undefined>;
  /** The session of this pod. Offers that name another session are refused as `not_ready`. */
  sessionId: string;
  tickets: Tickets;
  status: () => StreamerStatus;
  metrics: () => string;
}

/** Serves WHEP to viewers with a ticket, status and metrics to the operator, and probes to everyone. */
export function createSignalServer(options: SignalServerOptions): Server {
  return createHttpServer({
    port: options.port,
    requestDeadlineMs,
    headersDeadlineMs,
    maxConnections,
    route: (request) => route(request, options),
    presentError: (error) => presentError(error, options.logger),
  });
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

/** Checks the ticket first: without one, nobody learns which connections or methods exist. */
function routeViewer(
  request: IncomingMessage,
  { pathname, searchParams }: URL,
  options: SignalServerOptions,
): HttpResponse | Promise<HttpResponse> {
  const sessionId = request.headers[whep.sessionHeader];
  // The API looked up this address for another session, whose pod had it before. It can send the offer again.
  if (sessionId !== undefined && sessionId !== options.sessionId) throw notReady();
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
    throw new DomainError("unsupported_media_type", `Send the offer as ${whep.contentType}.`);
  const parameters = readQuery(query);
  const sdp = await readText(request, whep.maxOfferBytes);
  const viewers = await options.awaitViewers();
  // A browser that left while the offer waited must not become a viewer.
  if (!viewers || request.socket.destroyed) throw notReady();
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
    throw new DomainError(
      "invalid_query",
      `${whep.clientParameter} must be 8 to 64 letters, digits, - or _.`,
    );
  const takeover = query.get(whep.takeoverParameter);
  if (takeover !== null && takeover !== "true" && takeover !== "false")
    throw new DomainError("invalid_query", `${whep.takeoverParameter} must be true or false.`);
  return { client: client.data, takeover: takeover === "true" };
}

/** Hanging up twice is normal: a page that unloads cannot know whether the streamer has already noticed. */
function hangUp(id: string, holder: TicketHolder, { viewers }: SignalServerOptions): HttpResponse {
  return viewers()?.disconnect(id, holder) === true
    ? { status: 200 }
    : json(404, { error: "not_found", message: "This connection does not exist or has ended." });
}

function presentError(error: unknown, logger: Logger): HttpResponse {
  if (error instanceof DomainError) {
    const response = json(error.status, { error: error.code, message: error.message });
    return error.code === "unauthorized"
      ? { ...response, headers: { "www-authenticate": 'Bearer realm="joypod streams"' } }
      : response;
  }
  logger.error({ err: error }, "A signalling request failed.");
  return { status: 500, body: "internal error\n" };
}
