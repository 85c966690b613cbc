import { z } from "zod";
import { opaqueId } from "#contracts/http/text.ts";
import { errors } from "#contracts/http/errors.ts";
import { StreamTicketRequest, StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import { IceServersResponse } from "#contracts/http/iceServers.ts";
import { whep, WhepClientId, WhepError, WhepErrorCode } from "#contracts/stream.ts";
import { findStreamer, streamUnavailable } from "./findStreamer.ts";
import { offerStream } from "./offerStream.ts";
import { DomainError, forbidden } from "../errors.ts";
import { noteStreamConnection } from "../gameSessions/sessions/keepGameSessionAlive.ts";
import { streamPath } from "../gameSessions/sessions/present.ts";
import type { AppContext } from "../http/appContext.ts";
import { empty, media } from "../http/responses.ts";
import { readPlain, clientGoneSignal } from "../http/body.ts";
import type { Route } from "../http/route.ts";
import { userRouteFor } from "../auth/requireUser.ts";
import type { StreamerResponse } from "./streamerClient.ts";
import { iceServersFor, iceServersOfViewer, linkOf } from "./iceServers.ts";
import { issueStreamTicket, ticketForStreamer } from "./tickets.ts";
import { readTicketOf, viewerRouteFor } from "./viewerRoute.ts";
import type { Deps } from "../deps.ts";

const route = viewerRouteFor<Deps>();
const playerRoute = userRouteFor<Deps>();

const messageMaxLength = 500;
const StreamParams = z.object({ sessionId: opaqueId });
const ConnectionParams = StreamParams.extend({ connectionId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/) });
const OfferQuery = z.strictObject({
  [whep.clientParameter]: WhepClientId.optional().meta({
    description:
      "A random id that the client keeps. A client replaces its own previous connection without `takeover`.",
    examples: ["k3v9x2m7q1"],
  }),
  [whep.takeoverParameter]: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "`true` replaces another viewer, who is notified." }),
});

/**
 * WHEP: forwards the browser's offer to the session's pod and the answer back. Media never passes through the
 * API.
 */
const offer = route({
  method: "POST",
  path: `${streamPath}/:sessionId`,
  name: "offerStream",
  summary: "Connect to a session's stream",
  description:
    "WHEP: the session's streamer answers the SDP offer. Media flows directly over WebRTC, never through the API. While the session starts, the offer stays pending until its streamer runs, which is before the game does.",
  limits: ["signalling"],
  rawBody: { types: [whep.contentType], description: "The SDP offer.", maxBytes: whep.maxOfferBytes },
  responses: {
    201: media([whep.contentType], "The SDP answer.", { headers: ["Location"], optionalHeaders: ["Link"] }),
  },
  errors: [
    "not_running",
    "invalid_request",
    "request_timeout",
    "payload_too_large",
    ...WhepErrorCode.options,
  ],
  announce: (deps, ctx) => {
    // CORS preflights carry no ticket, so they get no credentials.
    const grant = readTicketOf(ctx);
    const isForThisSession = grant !== undefined && ctx.path === `${streamPath}/${grant.sessionId}`;
    const link = isForThisSession ? linkOf(iceServersOfViewer(deps, grant).iceServers) : undefined;
    return { "Accept-Post": whep.contentType, ...(link !== undefined && { Link: link }) };
  },
  params: StreamParams,
  query: OfferQuery,
  handle: async ({ ctx, deps, viewer, params: { sessionId }, query }) => {
    const sdp = await readPlain(ctx, whep.contentType, whep.maxOfferBytes);
    // A page that disconnected while its offer was pending must not become a viewer.
    const left = clientGoneSignal(ctx);
    const response = await offerStream(
      deps,
      { ...viewer, sessionId },
      { query: queryString(query), sdp, signal: left },
    ).catch((error: unknown) => {
      if (!left.aborted) throw error;
    });
    if (response === undefined) return;
    forwardResponse(ctx, response, 201);
    const link = linkOf(iceServersOfViewer(deps, viewer).iceServers);
    if (link !== undefined) ctx.set("Link", link);
    if (response.connectionId !== undefined) {
      if (viewer.role === "play")
        await noteStreamConnection(deps, {
          userId: viewer.userId,
          id: sessionId,
          connection: response.connectionId,
        });
      ctx.set("Location", `${deps.config.baseUrl}${streamPath}/${sessionId}/${response.connectionId}`);
    }
  },
});

const hangUp = route({
  method: "DELETE",
  path: `${streamPath}/:sessionId/:connectionId`,
  name: "hangUpStream",
  summary: "Close a connection to a stream",
  limits: ["signalling"],
  responses: { 200: empty("The connection is closed. The session continues.") },
  errors: ["not_running", "not_ready"],
  params: ConnectionParams,
  handle: async ({ ctx, deps, viewer, params: { sessionId, connectionId } }) => {
    const streamer = await findStreamer(deps, viewer.userId, sessionId);
    const ticket = ticketForStreamer(deps, { ...viewer, sessionId }, streamer);
    const response = await deps.streamers.hangUp(streamer.podIp, { connectionId, ticket });
    if (response.status === errors.forbidden.status)
      throw forbidden("This connection belongs to another viewer.");
    forwardResponse(ctx, response, 200);
  },
});

const ticket = playerRoute({
  method: "POST",
  path: "/api/game/stream-ticket",
  name: "createStreamTicket",
  summary: "Get a ticket to a session's stream",
  description:
    "For WHEP players without the session cookie. Send the ticket as `Authorization: Bearer <ticket>`. With the role `watch` a viewer receives video and audio, and its input is ignored; while a player is connected it is refused with `viewer_active`.",
  limits: ["streamTicket"],
  body: StreamTicketRequest,
  responses: { 200: StreamTicketResponse },
  errors: ["not_found", "not_running"],
  handle: async ({ ctx, deps, user, body: { sessionId, role } }) => {
    ctx.body = await issueStreamTicket(deps, { sessionId, userId: user.id, role });
  },
});

const iceServers = playerRoute({
  method: "GET",
  path: `${streamPath}/ice-servers`,
  name: "listIceServers",
  summary: "List relays",
  description:
    "TURN relays with the player's credentials, for networks that block UDP to game servers. Relays reach only the media ports of game servers. WHEP players get them in the `Link` headers of the SDP answer, and of `OPTIONS` with a ticket to the session. Watchers get separate credentials.",
  limits: ["signalling"],
  responses: { 200: IceServersResponse },
  errors: [],
  handle: ({ ctx, deps, user }) => {
    ctx.body = iceServersFor(deps, user.id);
  },
});

/** Signalling for the player's sessions, tickets for other WHEP players, and relays for both. */
export const streamRoutes: readonly Route<Deps>[] = [iceServers, offer, hangUp, ticket];

/**
 * Forwards only responses of the protocol, never as a type that a page would execute: the pod runs partners'
 * code.
 */
function forwardResponse(ctx: AppContext, response: StreamerResponse, expected: 200 | 201): void {
  if (response.status !== expected) throw toDomainError(response);
  if (expected === 201 && !response.contentType.startsWith(whep.contentType)) throw streamUnavailable();
  ctx.body = expected === 201 ? response.body : null;
  ctx.status = expected;
  if (expected === 201) ctx.type = whep.contentType;
}

/** Translates an error response; anything that is not part of the protocol becomes `unavailable`. */
function toDomainError({ status, body }: StreamerResponse): DomainError {
  const whepError = WhepError.safeParse(parseJson(body)).data;
  if (whepError === undefined || errors[whepError.error].status !== status) return streamUnavailable();
  return new DomainError(whepError.error, {
    message: whepError.message.slice(0, messageMaxLength),
    ...(status === 503 && { retryAfterSeconds: 1 }),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function queryString(query: Record<string, string | undefined>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}
