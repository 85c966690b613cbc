import { whep } from "#contracts/stream.ts";
import { userRouteFor, type UserDeps } from "../auth/requireUser.ts";
import { readPlain } from "../http/body.ts";
import { media } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { startConnectionTest, type StartDeps } from "./startConnectionTest.ts";

const route = userRouteFor<StartDeps>();

const start = route({
  method: "POST",
  path: "/api/stream/connection-tests",
  name: "startConnectionTest",
  summary: "Test the connection to a game server",
  description:
    'The SDP offer, for data channels alone, is answered by a responder on a game node, on the way that a game\'s picture takes. The page measures: it opens the channels `control`, ordered, and `packets`, unordered without repeats, sends `{"t":"ping","n":1}` on the first, which comes back as it is, and asks there for packets by `{"t":"send","burst":"loss"}` and `{"t":"send","burst":"bandwidth"}`, each once; after each, `{"t":"sent"}` says how many there were. A packet begins with its number, four bytes, big-endian. A test ends after 10 seconds, and with the player\'s next one.',
  limits: ["connectionTest"],
  rawBody: { types: [whep.contentType], description: "The SDP offer.", maxBytes: whep.maxOfferBytes },
  responses: { 201: media([whep.contentType], "The SDP answer.") },
  errors: [
    "invalid_offer",
    "invalid_request",
    "request_timeout",
    "payload_too_large",
    "unsupported_media_type",
    "no_servers",
  ],
  handle: async ({ ctx, deps, user }) => {
    const offer = await readPlain(ctx, whep.contentType, whep.maxOfferBytes);
    const sdpAnswer = await startConnectionTest(deps, offer, user.id);
    ctx.status = 201;
    ctx.type = whep.contentType;
    ctx.body = sdpAnswer;
  },
});

/** Tests of a player's connection to the game nodes. */
export const connectionTestRoutes: readonly Route<StartDeps & UserDeps>[] = [start];
