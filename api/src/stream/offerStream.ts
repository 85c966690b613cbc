import { setTimeout as delay } from "node:timers/promises";
import { whep } from "#contracts/stream.ts";
import { HttpError } from "../errors.ts";
import type { StreamOffer, StreamerAnswer, StreamerClient } from "./streamerClient.ts";
import { followStreamer, notRunning, type FindStreamerDeps } from "./findStreamer.ts";

/** What passing an offer on needs. */
export interface OfferDeps extends FindStreamerDeps {
  streamers: StreamerClient;
}

/** Between tries to reach a streamer that has yet to listen: it is expected within a fraction of a second. */
const pauses = { firstMs: 20, growth: 1.25, longestMs: 500 };

/**
 * Brings the user's offer to the pod of the session and gives the pod's answer. An offer for a session that starts is held until
 * its streamer can be reached: the browser's connection is made while the game starts, not after it. Throws not_found;
 * not_running before there is a pod to come, and after the end; not_ready when the streamer is not there within the holding
 * time; unavailable when that of a running session does not answer.
 */
export async function offerStream(deps: OfferDeps, userId: string, offer: StreamOffer): Promise<StreamerAnswer> {
  const holdUntilMs = performance.now() + whep.holdSeconds * 1_000;
  let pauseMs = pauses.firstMs;
  const session = await followStreamer(deps, userId, offer.sessionId);
  for (;;) {
    await session.wait(holdUntilMs - performance.now());
    const { status, podIp } = session.look();
    if (podIp === undefined) throw status === "starting" ? notReady() : notRunning();
    if (status === "running") return deps.streamers.offer(podIp, offer);
    const answer = await offerEarly(deps, podIp, offer);
    if (answer !== undefined && session.look().podIp === podIp) return answer; // else the session has ended or moved meanwhile
    if (performance.now() >= holdUntilMs) throw notReady();
    await delay(pauseMs, undefined, { signal: offer.signal });
    pauseMs = Math.min(pauseMs * pauses.growth, pauses.longestMs);
  }
}

/** Undefined when the streamer does not take offers yet. */
async function offerEarly({ streamers }: OfferDeps, podIp: string, offer: StreamOffer): Promise<StreamerAnswer | undefined> {
  const answer = await streamers.offer(podIp, offer).catch((error: unknown) => {
    if (error instanceof HttpError && error.code === "unavailable") return undefined;
    throw error;
  });
  return answer?.status === 503 ? undefined : answer;
}

function notReady(): HttpError {
  return new HttpError("not_ready", { message: "The session is still starting: offer again.", retryAfterSeconds: 1 });
}
