import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { whep, WhepClientId, type StreamerStatus } from "#contracts/stream.ts";
import { NotReady, WhepRequestError } from "../errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Viewers } from "../transport/viewers.ts";
import { readText } from "./body.ts";

const requestDeadlineMs = 10_000;
const headersDeadlineMs = 5_000;
const maxConnections = 128;

export interface SignalServerOptions {
  port: number;
  log: Logger;
  /** The viewers once the streamer is ready, undefined before and while it stops. */
  viewers: () => Viewers | undefined;
  /** The same, but waits a bounded time while the streamer starts. */
  awaitViewers: () => Promise<Viewers | undefined>;
  /** The session of this pod; offers that name another one fail as not ready. */
  sessionId: string | undefined;
  status: () => StreamerStatus;
  metrics: () => string;
}

interface HttpResponse {
  status: number;
  body?: string;
  type?: string;
  headers?: Record<string, string>;
}

/** Serves WHEP, probes, status and metrics inside the pod. Only the API's proxy and the kubelet send requests here. */
export function createSignalServer(options: SignalServerOptions): Server {
  const server = createServer({ requestTimeout: requestDeadlineMs, headersTimeout: headersDeadlineMs }, (request, response) => {
    void serve(request, response, options);
  });
  server.maxConnections = maxConnections;
  return server.listen(options.port);
}

async function serve(request: IncomingMessage, response: ServerResponse, options: SignalServerOptions): Promise<void> {
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
  if (url.pathname === whep.path && method === "POST") return handleOffer(request, url.searchParams, options);
  if (url.pathname.startsWith(`${whep.path}/`) && method === "DELETE") return hangUp(url.pathname.slice(whep.path.length + 1), options);
  if (url.pathname.startsWith(whep.path)) return { status: 405, headers: { allow: url.pathname === whep.path ? "POST" : "DELETE" } };
  if (method !== "GET" && method !== "HEAD") return { status: 405, headers: { allow: "GET" } };
  switch (url.pathname) {
    case "/healthz": return { status: 200, body: "ok\n" };
    case "/readyz": return options.viewers() ? { status: 200, body: "ready\n" } : { status: 503, body: "starting or stopping\n" };
    case "/status": return json(200, options.status());
    case "/metrics": return { status: 200, type: "text/plain; version=0.0.4", body: options.metrics() };
    default: return { status: 404, body: "not found\n" };
  }
}

async function handleOffer(request: IncomingMessage, query: URLSearchParams, options: SignalServerOptions): Promise<HttpResponse> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== whep.contentType) throw new WhepRequestError("unsupported_media_type", `Send the offer as ${whep.contentType}.`);
  const parameters = readQuery(query);
  const sdp = await readText(request, whep.maxOfferBytes);
  const offeredSessionId = request.headers[whep.sessionHeader];
  if (offeredSessionId !== undefined && options.sessionId !== undefined && offeredSessionId !== options.sessionId) throw new NotReady();
  const viewers = await options.awaitViewers();
  if (!viewers || request.socket.destroyed) throw new NotReady(); // A browser that left meanwhile must not become a viewer.
  const { id, sdpAnswer } = await viewers.connect({ sdp, ...parameters });
  return { status: 201, body: sdpAnswer, type: whep.contentType, headers: { location: `${whep.path}/${id}` } };
}

function readQuery(query: URLSearchParams): { client: string | undefined; takeover: boolean } {
  const client = WhepClientId.optional().safeParse(query.get(whep.clientParameter) ?? undefined);
  if (!client.success) throw new WhepRequestError("invalid_query", `${whep.clientParameter} must be 8 to 64 letters, digits, - or _.`);
  const takeover = query.get(whep.takeoverParameter);
  if (takeover !== null && takeover !== "true" && takeover !== "false") {
    throw new WhepRequestError("invalid_query", `${whep.takeoverParameter} must be true or false.`);
  }
  return { client: client.data, takeover: takeover === "true" };
}

/** To hang up twice is ordinary: a page that unloads cannot know whether the streamer has noticed already. */
function hangUp(id: string, { viewers }: SignalServerOptions): HttpResponse {
  return viewers()?.disconnect(id) === true ? { status: 200 } : json(404, { error: "not_found", message: "This connection is not there (any more)." });
}

function presentError(error: unknown, log: Logger): HttpResponse {
  if (error instanceof WhepRequestError) return json(error.status, { error: error.code, message: error.message });
  log.error({ err: error }, "A signalling request failed.");
  return { status: 500, body: "internal error\n" };
}

function json(status: number, body: unknown): HttpResponse {
  return { status, body: JSON.stringify(body), type: "application/json" };
}
