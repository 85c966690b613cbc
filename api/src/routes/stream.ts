import { z } from "zod";
import { opaqueId } from "#contracts/http/text.ts";
import { whep, whepErrors, WhepClientId } from "#contracts/stream.ts";
import { awaitStreamer, findStreamer } from "../commands/findStreamer.ts";
import { unavailable } from "../errors.ts";
import { streamPath } from "../presenters/gameSession.ts";
import type { AppContext } from "../routing/appContext.ts";
import { empty, media } from "../routing/answers.ts";
import { readPlain } from "../routing/body.ts";
import { userRoute, type Route } from "../routing/route.ts";
import type { StreamerAnswer } from "../stream/streamerClient.ts";

const StreamParams = z.object({ sessionId: opaqueId });
const ConnectionParams = StreamParams.extend({ connectionId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/) });
const OfferQuery = z.strictObject({
  [whep.clientParameter]: WhepClientId.optional()
    .meta({ description: "A random id that the page keeps: the same client replaces its own old connection without asking.", example: "k3v9x2m7q1" }),
  [whep.takeoverParameter]: z.enum(["true", "false"]).optional().meta({ description: "`true` replaces another viewer, who is told so." }),
});

/** WHEP: the browser's offer goes to the session's pod, the pod's answer back. Media never passes through here. */
const offer = userRoute({
  method: "POST",
  path: `${streamPath}/:sessionId`,
  name: "offerStream",
  summary: "Connect to a session's stream",
  description: "WHEP: the SDP offer is answered by the session's streamer; media goes by WebRTC and never through here. While the session starts the offer is held, and answered the moment it runs.",
  limits: ["signalling"],
  rawBody: { types: [whep.contentType], description: "The SDP offer.", maxBytes: whep.maxOfferBytes },
  answers: { 201: media([whep.contentType], "The SDP answer.", { headers: ["Location"] }) },
  errors: [
    "not_running", "viewer_active", "invalid_request", "invalid_offer", "invalid_query", "request_timeout", "payload_too_large", "offer_too_large",
    "unsupported_media_type", "not_ready",
  ],
  params: StreamParams,
  query: OfferQuery,
  handle: async ({ ctx, deps, user, params: { sessionId }, query }) => {
    const sdp = await readPlain(ctx, whep.contentType, whep.maxOfferBytes);
    const podIp = await awaitStreamer(deps, user.id, sessionId);
    if (ctx.req.socket.destroyed) return; // a page that left while it waited must not become a viewer
    const answer = await deps.streamers.offer(podIp, queryString(query), sdp);
    if (answer.status === 201 && answer.connectionId !== undefined) {
      ctx.set("Location", `${deps.config.baseUrl}${streamPath}/${sessionId}/${answer.connectionId}`);
    }
    passOn(ctx, answer);
  },
});

const hangUp = userRoute({
  method: "DELETE",
  path: `${streamPath}/:sessionId/:connectionId`,
  name: "hangUpStream",
  summary: "Hang up a stream's connection",
  limits: ["signalling"],
  answers: { 200: empty("The connection is closed; the session goes on.") },
  errors: ["not_running", "not_ready"],
  params: ConnectionParams,
  handle: async ({ ctx, deps, user, params: { sessionId, connectionId } }) => {
    const podIp = await findStreamer(deps, user.id, sessionId);
    passOn(ctx, await deps.streamers.hangUp(podIp, connectionId));
  },
});

/** Signalling for the player's own running session. */
export const streamRoutes: readonly Route[] = [offer, hangUp];

const passedOn = new Set<number>([200, 201, ...Object.values(whepErrors)]);

/** The pod runs other people's code: only the answers of the protocol are passed on, and never as anything a page would run. */
function passOn(ctx: AppContext, { status, contentType, body }: StreamerAnswer): void {
  const type = [whep.contentType, "application/json"].find((name) => contentType.startsWith(name));
  if (!passedOn.has(status)) throw unavailable("The stream is not ready: try again in a moment.");
  ctx.status = status;
  ctx.body = type === undefined ? null : body;
  if (type !== undefined) ctx.type = type;
}

function queryString(query: Record<string, string | undefined>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}
