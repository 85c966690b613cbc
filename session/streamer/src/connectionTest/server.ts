import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { KeyObject } from "node:crypto";
import { connectionTest } from "#contracts/connectionTest.ts";
import { whep } from "#contracts/stream.ts";
import { bearerTicket, readTicket } from "#contracts/streamTicket.ts";
import type { Logger } from "#runtime/logger.ts";
import { Forbidden, Unauthorized, WhepRequestError } from "../errors.ts";
import { readText } from "../signalling/body.ts";
import type { Responder } from "./responder.ts";

const requestDeadlineMs = 5_000;
const maxConnections = 64;

export interface TestServerOptions {
  port: number;
  responder: Responder;
  /** The public key of the API's tickets. */
  verifyingKey: KeyObject;
  log: Logger;
  /** The wall clock. */
  now: () => Date;
}

/** Serves the API, which has tickets, and probes. */
export function createTestServer(options: TestServerOptions): Server {
  const server = createServer(
    { requestTimeout: requestDeadlineMs, headersTimeout: requestDeadlineMs },
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
  options: TestServerOptions,
): Promise<void> {
  try {
    await route(request, response, options);
  } catch (error) {
    if (!(error instanceof WhepRequestError))
      options.log.error({ err: error }, "A connection test's request failed.");
    const { status, code, message } =
      error instanceof WhepRequestError
        ? error
        : { status: 500, code: "internal_error", message: "The test could not be started." };
    respond(request, response, status, { error: code, message });
  }
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  options: TestServerOptions,
): Promise<void> {
  const [path] = (request.url ?? "/").split("?", 1);
  if (path === "/healthz" || path === "/readyz") respond(request, response, 200, { ok: true });
  else if (path !== connectionTest.path)
    respond(request, response, 404, { error: "not_found", message: "There is nothing here." });
  else if (request.method !== "POST")
    respond(
      request,
      response,
      405,
      { error: "method_not_allowed", message: "Use POST here." },
      { allow: "POST" },
    );
  else {
    const player = playerOf(request, options);
    const offer = await readText(request, whep.maxOfferBytes);
    respond(request, response, 201, await options.responder.respond(offer, player));
  }
}

/** Throws Unauthorized, and Forbidden for a ticket to something else. */
function playerOf(request: IncomingMessage, { verifyingKey, now }: TestServerOptions): string {
  const { authorization = [] } = request.headersDistinct;
  const ticket = authorization.length === 1 ? bearerTicket(authorization[0]) : undefined;
  const claims = ticket === undefined ? undefined : readTicket(ticket, verifyingKey, now());
  if (claims === undefined) throw new Unauthorized();
  if (claims.aud !== connectionTest.audience) throw new Forbidden("This ticket is for something else.");
  return claims.sub;
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  // What was not read of the body must not be taken for the next request.
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...headers,
    ...(!request.complete && { connection: "close" }),
  });
  response.end(JSON.stringify(body));
}
