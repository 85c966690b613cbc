import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { whep, WhepClientId, type StreamerStatus } from "#contracts/stream.ts";
import { NotReady, WhepRefusal } from "../errors.ts";
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
  /** The same, but while the streamer starts it waits, not for ever. */
  awaitViewers: () => Promise<Viewers | undefined>;
  /** Whose pod this is; offers that name another session are not taken. */
  sessionId: string | undefined;
  status: () => StreamerStatus;
  metrics: () => string;
}

interface Answer {
  status: number;
  body?: string;
  type?: string;
  headers?: Record<string, string>;
}

/** Serves WHEP, probes, status and metrics inside the pod. Only the API's proxy and the kubelet come here. */
export function createSignalServer(options: SignalServerOptions): Server {
  const server = createServer({ requestTimeout: requestDeadlineMs, headersTimeout: headersDeadlineMs }, (request, response) => {
    void serve(request, response, options);
  });
  server.maxConnections = maxConnections;
  return server.listen(options.port);
}

async function serve(request: IncomingMessage, response: ServerResponse, options: SignalServerOptions): Promise<void> {
  let answer: Answer;
  try {
    answer = await route(request, options);
  } catch (error) {
    answer = presentError(error, options.log);
  }
  const { status, body = "", type = "text/plain; charset=utf-8", headers = {} } = answer;
  // A body that was not read to its end must not become the next request.
  if (!request.complete) headers["connection"] = "close";
  response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...headers });
  response.end(body);
}

function route(request: IncomingMessage, options: SignalServerOptions): Answer | Promise<Answer> {
  const url = new URL(request.url ?? "/", "http://streamer");
  const { method = "GET" } = request;
  if (url.pathname === whep.path && method === "POST") return answerOffer(request, url.searchParams, options);
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

async function answerOffer(request: IncomingMessage, query: URLSearchParams, options: SignalServerOptions): Promise<Answer> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== whep.contentType) throw new WhepRefusal("unsupported_media_type", `Send the offer as ${whep.contentType}.`);
  const parameters = readQuery(query);
  const sdp = await readText(request, whep.maxOfferBytes);
  const named = request.headers[whep.sessionHeader];
  if (named !== undefined && options.sessionId !== undefined && named !== options.sessionId) throw new NotReady();
  const viewers = await options.awaitViewers();
  if (!viewers || request.socket.destroyed) throw new NotReady(); // who left meanwhile must not become a viewer
  const { id, answer } = await viewers.admit({ sdp, ...parameters });
  return { status: 201, body: answer, type: whep.contentType, headers: { location: `${whep.path}/${id}` } };
}

function readQuery(query: URLSearchParams): { client: string | undefined; takeover: boolean } {
  const client = WhepClientId.optional().safeParse(query.get(whep.clientParameter) ?? undefined);
  if (!client.success) throw new WhepRefusal("invalid_query", `${whep.clientParameter} must be 8 to 64 letters, digits, - or _.`);
  const takeover = query.get(whep.takeoverParameter);
  if (takeover !== null && takeover !== "true" && takeover !== "false") {
    throw new WhepRefusal("invalid_query", `${whep.takeoverParameter} must be true or false.`);
  }
  return { client: client.data, takeover: takeover === "true" };
}

/** Hanging up twice is ordinary: a page that unloads cannot know whether the streamer already noticed. */
function hangUp(id: string, { viewers }: SignalServerOptions): Answer {
  return viewers()?.dismiss(id) === true ? { status: 200 } : json(404, { error: "not_found", message: "This connection is not there (any more)." });
}

function presentError(error: unknown, log: Logger): Answer {
  if (error instanceof WhepRefusal) return json(error.status, { error: error.code, message: error.message });
  log.error({ err: error }, "A signalling request failed.");
  return { status: 500, body: "internal error\n" };
}

function json(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), type: "application/json" };
}
