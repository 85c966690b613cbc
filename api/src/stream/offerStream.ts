import { setTimeout as delay } from "node:timers/promises";
import { whep } from "#contracts/stream.ts";
import { DomainError } from "../errors.ts";
import type { StreamOffer, StreamerClient, StreamerResponse } from "./streamerClient.ts";
import { followStreamer, notRunning, type FindStreamerDeps } from "./findStreamer.ts";

/** What passing an offer on needs. */
export interface OfferDeps extends FindStreamerDeps {
  streamers: StreamerClient;
}

/** Waits between attempts to reach a streamer that does not listen yet: it is expected to within a fraction of a second. */
const retries = { firstMs: 20, growth: 1.25, longestMs: 500 };

/**
 * Sends the user's offer to the pod of the session and returns the pod's response. An offer for a session that starts stays pending until
 * its streamer can be reached: the browser connects while the game starts, not after it. Throws not_found; not_running while no pod is
 * expected, and after the end; not_ready when the streamer cannot be reached in time; unavailable when that of a running session does not
 * respond.
 */
export async function offerStream(deps: OfferDeps, userId: string, offer: StreamOffer): Promise<StreamerResponse> {
  const deadlineMs = performance.now() + whep.pendingOfferSeconds * 1_000;
  let retryMs = retries.firstMs;
  const session = await followStreamer(deps, userId, offer.sessionId);
  for (;;) {
    await session.wait(deadlineMs - performance.now());
    const { status, podIp } = session.current();
    if (podIp === undefined) throw status === "starting" ? notReady() : notRunning();
    if (status === "running") return deps.streamers.offer(podIp, offer);
    const response = await offerEarly(deps, podIp, offer);
    if (response !== undefined && session.current().podIp === podIp) return response; // Otherwise the session has ended or moved meanwhile.
    if (performance.now() >= deadlineMs) throw notReady();
    await delay(retryMs, undefined, { signal: offer.signal });
    retryMs = Math.min(retryMs * retries.growth, retries.longestMs);
  }
}

/** Returns undefined when the streamer does not take offers yet. */
async function offerEarly({ streamers }: OfferDeps, podIp: string, offer: StreamOffer): Promise<StreamerResponse | undefined> {
  const response = await streamers.offer(podIp, offer).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "unavailable") return undefined;
    throw error;
  });
  return response?.status === 503 ? undefined : response;
}

function notReady(): DomainError {
  return new DomainError("not_ready", { message: "The session is still starting: offer again.", retryAfterSeconds: 1 });
}
