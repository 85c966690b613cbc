import type { IncomingMessage, Server } from "node:http";
import type { KeyObject } from "node:crypto";
import { connectionTest } from "#contracts/connectionTest.ts";
import { whep } from "#contracts/stream.ts";
import { readTicket } from "#contracts/streamTicket.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DomainError, forbidden, unauthorized } from "../errors.ts";
import { createHttpServer, json, readText, requireTicket, type HttpResponse } from "../signalling/http.ts";
import type { Responder } from "./responder.ts";

const deadlineMs = 5_000;
const maxConnections = 64;

export interface TestServerOptions {
  port: number;
  responder: Responder;
  /** Public key of the API's tickets. */
  verifyingKey: KeyObject;
  logger: Logger;
  clock: Pick<Clock, "now">;
}

/** Serves offers from the API, which holds tickets, and probes from the kubelet. */
export function createTestServer(options: TestServerOptions): Server {
  return createHttpServer({
    port: options.port,
    requestDeadlineMs: deadlineMs,
    headersDeadlineMs: deadlineMs,
    maxConnections,
    route: (request) => route(request, options),
    presentError: (error) => presentError(error, options.logger),
  });
}

async function route(request: IncomingMessage, options: TestServerOptions): Promise<HttpResponse> {
  const [path] = (request.url ?? "/").split("?", 1);
  if (path === "/healthz" || path === "/readyz") return json(200, { ok: true });
  if (path !== connectionTest.path) return json(404, { error: "not_found", message: "Not found." });
  if (request.method !== "POST")
    return {
      ...json(405, { error: "method_not_allowed", message: "Use POST." }),
      headers: { allow: "POST" },
    };
  const player = readPlayer(request, options);
  const offer = await readText(request, whep.maxOfferBytes);
  return json(201, await options.responder.respond(offer, player));
}

/**
 * Returns the player that a request's ticket names.
 *
 * @throws DomainError unauthorized, or forbidden for a ticket to something else.
 */
function readPlayer(request: IncomingMessage, { verifyingKey, clock }: TestServerOptions): string {
  const claims = readTicket(requireTicket(request), verifyingKey, clock.now());
  if (claims === undefined) throw unauthorized();
  if (claims.aud !== connectionTest.audience) throw forbidden("This ticket is for something else.");
  return claims.sub;
}

function presentError(error: unknown, logger: Logger): HttpResponse {
  if (error instanceof DomainError) return json(error.status, { error: error.code, message: error.message });
  logger.error({ err: error }, "A connection test request failed.");
  return json(500, { error: "internal_error", message: "The test could not be started." });
}
