import { setTimeout as delay } from "node:timers/promises";
import { errors } from "#contracts/http/errors.ts";
import { whep } from "#contracts/stream.ts";
import { DomainError } from "../errors.ts";
import type { StreamOffer, StreamerResponse } from "./streamerClient.ts";
import type { StreamGrant } from "../auth/streamTickets.ts";
import { ticketForStreamer } from "./tickets.ts";
import { followStreamer, notReady, withoutPod } from "./findStreamer.ts";
import type { Deps } from "../deps.ts";

type OfferDeps = Pick<
  Deps,
  "postgres" | "databaseOutages" | "cluster" | "streamTickets" | "logger" | "streamers"
>;

/**
 * Delays between attempts to reach a streamer that does not listen yet, which takes a fraction of a second.
 */
const retries = { firstMs: 20, growth: 1.25, longestMs: 500 };

/**
 * Sends the viewer's offer with a ticket to the session's pod and returns the pod's response. An offer for a
 * starting session stays pending until its streamer is reachable: the browser connects while the game starts,
 * not after it.
 *
 * @throws DomainError `not_found`; `not_running` once the end has begun; `not_ready` if the streamer cannot
 *   be reached in time; `unavailable` if that of a running session is not known yet or does not respond, or
 *   no ticket can be signed.
 */
export async function offerStream(
  deps: OfferDeps,
  grant: StreamGrant,
  offer: Omit<StreamOffer, "sessionId" | "ticket">,
): Promise<StreamerResponse> {
  const deadlineMs = performance.now() + whep.pendingOfferSeconds * 1_000;
  let retryMs = retries.firstMs;
  const session = await followStreamer(deps, grant.userId, grant.sessionId);
  for (;;) {
    await session.wait(deadlineMs - performance.now());
    const { status, podIp, ticketPublicKey } = session.current();
    if (podIp === undefined) throw withoutPod(status);
    const signed = {
      ...offer,
      sessionId: grant.sessionId,
      ticket: ticketForStreamer(deps, grant, { ticketPublicKey }),
    };
    if (status === "running") return sendOffer(deps, podIp, signed);
    const response = await offerEarly(deps, podIp, signed);
    // Otherwise the session has ended or moved in the meantime.
    if (response !== undefined && session.current().podIp === podIp) return response;
    if (performance.now() >= deadlineMs) throw notReady();
    await delay(retryMs, undefined, { signal: offer.signal });
    retryMs = Math.min(retryMs * retries.growth, retries.longestMs);
  }
}

/** Returns undefined if the streamer does not accept offers yet. */
async function offerEarly(
  deps: OfferDeps,
  podIp: string,
  offer: StreamOffer,
): Promise<StreamerResponse | undefined> {
  const response = await sendOffer(deps, podIp, offer).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "unavailable") return undefined;
    throw error;
  });
  return response?.status === 503 ? undefined : response;
}

async function sendOffer(
  { streamers, logger }: OfferDeps,
  podIp: string,
  offer: StreamOffer,
): Promise<StreamerResponse> {
  const response = await streamers.offer(podIp, offer);
  if (response.status === errors.unauthorized.status || response.status === errors.forbidden.status) {
    const keys = { gameSession: offer.sessionId, status: response.status };
    logger.warn(
      keys,
      "A streamer rejected the API's ticket: its key differs, or the clocks of API and node differ by more than ten minutes.",
    );
  }
  return response;
}
