import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { bearerTicket } from "#contracts/streamTicket.ts";
import { DomainError, unauthorized } from "../errors.ts";

/** A response before it is written. */
export interface HttpResponse {
  status: number;
  body?: string;
  /** Plain text unless given. */
  type?: string;
  headers?: Record<string, string>;
}

interface HttpServerOptions {
  port: number;
  requestDeadlineMs: number;
  headersDeadlineMs: number;
  maxConnections: number;
  route: (request: IncomingMessage) => HttpResponse | Promise<HttpResponse>;
  /** Turns anything that `route` throws into a response. */
  presentError: (error: unknown) => HttpResponse;
}

/** Starts an HTTP server. Responses are never cached. */
export function createHttpServer(options: HttpServerOptions): Server {
  const server = createServer(
    { requestTimeout: options.requestDeadlineMs, headersTimeout: options.headersDeadlineMs },
    (request, response) => {
      void serve(request, response, options);
    },
  );
  server.maxConnections = options.maxConnections;
  return server.listen(options.port);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { route, presentError }: HttpServerOptions,
): Promise<void> {
  let result: HttpResponse;
  try {
    result = await route(request);
  } catch (error) {
    result = presentError(error);
  }
  const { status, body = "", type = "text/plain; charset=utf-8", headers } = result;
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    ...headers,
    // The unread rest of a body must not be parsed as the next request.
    ...(!request.complete && { connection: "close" }),
  });
  response.end(body);
}

/** Returns a response with a JSON body. */
export function json(status: number, body: unknown): HttpResponse {
  return { status, body: JSON.stringify(body), type: "application/json" };
}

/**
 * Returns the text of a request's body.
 *
 * @throws DomainError offer_too_large when it exceeds `maxBytes`; the rest is not read.
 */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new DomainError("offer_too_large", `The offer is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Returns the bearer ticket of a request.
 *
 * @throws DomainError unauthorized when there is none, or more than one Authorization header: Node would
 *   silently use the first.
 */
export function requireTicket(request: IncomingMessage): string {
  const { authorization = [] } = request.headersDistinct;
  const ticket = authorization.length === 1 ? bearerTicket(authorization[0]) : undefined;
  if (ticket === undefined) throw unauthorized();
  return ticket;
}
