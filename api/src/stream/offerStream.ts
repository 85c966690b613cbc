import { setTimeout as delay } from "node:timers/promises";
import { whep } from "#contracts/stream.ts";
import { DomainError } from "../errors.ts";
import type { StreamOffer, StreamerResponse, StreamerClient } from "./streamerClient.ts";
import { followStreamer, notRunning, type FindStreamerDeps } from "./findStreamer.ts";

/** What passing an offer on needs. */
export interface OfferDeps extends FindStreamerDeps {
  streamers: StreamerClient;
}

/** Pauses between attempts to reach a streamer that does not listen yet: it is expected to within a fraction of a second. */
const pauses = { firstMs: 20, growth: 1.25, longestMs: 500 };

/**
 * Forwards the user's offer to the session's pod and returns the pod's response. An offer for a starting session is pending until its
 * streamer can be reached: the browser connects while the game starts, not after it. Throws not_found; not_running when there is no pod
 * and none is to come; not_ready when the streamer cannot be reached in time; unavailable when that of a running session does not respond.
 */
export async function offerStream(deps: OfferDeps, userId: string, offer: StreamOffer): Promise<StreamerResponse> {
  const pendingUntilMs = performance.now() + whep.holdSeconds * 1_000;
  let pauseMs = pauses.firstMs;
  const session = await followStreamer(deps, userId, offer.sessionId);
  for (;;) {
    await session.wait(pendingUntilMs - performance.now());
    const { status, podIp } = session.current();
    if (podIp === undefined) throw status === "starting" ? notReady() : notRunning();
    if (status === "running") return deps.streamers.offer(podIp, offer);
    const response = await offerToStarting(deps, podIp, offer);
    if (response !== undefined && session.current().podIp === podIp) return response; // else the session has ended or moved meanwhile
    if (performance.now() >= pendingUntilMs) throw notReady();
    await delay(pauseMs, undefined, { signal: offer.signal });
    pauseMs = Math.min(pauseMs * pauses.growth, pauses.longestMs);
  }
}

/** Returns undefined when the streamer does not take offers yet. */
async function offerToStarting({ streamers }: OfferDeps, podIp: string, offer: StreamOffer): Promise<StreamerResponse | undefined> {
  const response = await streamers.offer(podIp, offer).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "unavailable") return undefined;
    throw error;
  });
  return response?.status === 503 ? undefined : response;
}

function notReady(): DomainError {
  return new DomainError("not_ready", { message: "The session is still starting: offer again.", retryAfterSeconds: 1 });
}
