import { whep } from "#contracts/stream.ts";
import { readPlain } from "../http/body.ts";
import { media } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { userRouteFor } from "../auth/requireUser.ts";
import { DomainError, unavailable } from "../errors.ts";
import type { Deps } from "../deps.ts";

/**
 * Priority of the first host candidate of component 1 (RFC 8445); candidates with higher priorities are tried
 * first.
 */
const bestPriority = 126 * 2 ** 24 + 65_535 * 2 ** 8 + 255;

const busyRetrySeconds = 10;

const route = userRouteFor<Deps>();

const start = route({
  method: "POST",
  path: "/api/stream/connection-tests",
  name: "startConnectionTest",
  summary: "Test the connection to a game server",
  description:
    'A responder on a game node answers the SDP offer, which has data channels only, over the same path as a game\'s video. The client opens the channels `control` (ordered) and `packets` (unordered, no retransmissions). On `control` it sends `{"t":"ping","n":1}`, which is echoed, and requests packets with `{"t":"send","burst":"loss"}` and `{"t":"send","burst":"bandwidth"}`, each once; after each burst, `{"t":"sent"}` has the number of packets. A packet begins with its number: four bytes, big-endian. A test ends after 10 seconds, or when the player starts another one.',
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

/** Tests of players' connections to game nodes. */
export const connectionTestRoutes: readonly Route<Deps>[] = [start];

/**
 * Returns the SDP answer of a responder on any game node, with the addresses that sessions on that node
 * announce.
 *
 * @throws DomainError `unavailable` if no node has a responder, `no_servers` if all responders asked are
 *   busy, or `invalid_offer`.
 */
async function startConnectionTest(
  { cluster, logger, testResponders }: Pick<Deps, "cluster" | "logger" | "testResponders">,
  offer: string,
  userId: string,
): Promise<string> {
  if (testResponders === undefined) throw unavailable("Connection tests are not available here.");
  const outcome = await testResponders.ask(offer, userId);
  if ("sdpAnswer" in outcome) {
    const { sdp, addresses, nodeName, udpPort } = outcome.sdpAnswer;
    // The addresses that sessions announce, so the test finds what a game would.
    const announced = cluster.gameNode(nodeName)?.status?.addresses?.announced ?? addresses;
    return withCandidates(sdp, announced, udpPort);
  }
  switch (outcome.refused) {
    case "offer":
      throw new DomainError("invalid_offer", { message: outcome.message });
    case "busy":
      throw new DomainError("no_servers", {
        message: "Too many connection tests are running right now. Try again in a few seconds.",
        retryAfterSeconds: busyRetrySeconds,
      });
    case "absent":
      logger.warn({ err: outcome.cause }, "No game node answers connection tests.");
      throw unavailable(
        "No game server can test the connection right now. Try again in a moment.",
        outcome.cause,
      );
  }
}

/** Returns the SDP answer with one UDP candidate per distinct address, on the given port. */
export function withCandidates(sdp: string, addresses: readonly string[], port: number): string {
  const lines = sdp
    .split(/\r?\n/)
    .filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
  const candidates = [...new Set(addresses)].map(
    (address, index) =>
      `a=candidate:${index + 1} 1 UDP ${bestPriority - index * 2 ** 8} ${address} ${port} typ host`,
  );
  // Data channels are the only media section, so it ends with the text.
  return [...lines, ...candidates, "a=end-of-candidates"].join("\r\n") + "\r\n";
}
