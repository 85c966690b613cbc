import { setTimeout as delay } from "node:timers/promises";
import { whep } from "#contracts/stream.ts";
import type { Deps } from "../deps.ts";
import { HttpError } from "../errors.ts";
import type { StreamOffer, StreamerAnswer } from "../stream/streamerClient.ts";
import { lookForStreamer, notRunning, type FoundStreamer } from "./findStreamer.ts";

type OfferDeps = Pick<Deps, "postgres" | "cluster" | "streamers">;

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
  for (;;) {
    const found = await lookForStreamer(deps, userId, offer.sessionId, holdUntilMs - performance.now());
    if (found.podIp === undefined) throw found.status === "starting" ? notReady() : notRunning();
    if (found.status === "running") return deps.streamers.offer(found.podIp, offer);
    const answer = await offerEarly(deps, userId, found, offer);
    if (answer !== undefined) return answer;
    if (performance.now() >= holdUntilMs) throw notReady();
    await delay(pauseMs, undefined, { signal: offer.signal });
    pauseMs = Math.min(pauseMs * pauses.growth, pauses.longestMs);
  }
}

/** Undefined when the streamer does not take offers yet, and when what it answered is void: the session ended or moved meanwhile. */
async function offerEarly(deps: OfferDeps, userId: string, { podIp }: FoundStreamer, offer: StreamOffer): Promise<StreamerAnswer | undefined> {
  if (podIp === undefined) return undefined;
  const answer = await deps.streamers.offer(podIp, offer).catch((error: unknown) => {
    if (error instanceof HttpError && error.code === "unavailable") return undefined;
    throw error;
  });
  if (answer === undefined || answer.status === 503) return undefined;
  const now = await lookForStreamer(deps, userId, offer.sessionId, 0);
  return now.podIp === podIp ? answer : undefined;
}

function notReady(): HttpError {
  return new HttpError("not_ready", { message: "The session is still starting: offer again.", retryAfterSeconds: 1 });
}
