/** The API's calls of a connection test. All of them throw only ApiError. */

import { IceServersResponse } from "#contracts/http/iceServers.ts";
import { whep } from "#contracts/stream.ts";
import { ApiError } from "./apiError.ts";
import { joinSignals } from "./browser.ts";
import { request, responseError } from "./request.ts";

/** Path of the relays in the API. */
export const iceServersPath = "/api/stream/ice-servers";

const requestTimeoutMs = 12_000;

/**
 * Posts an offer to a game server's responder and returns its SDP answer. Errors: unavailable if there is no
 * responder, no_servers if all are busy, rate_limited.
 */
export async function postConnectionTest(sdp: string, signal: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await fetch("/api/stream/connection-tests", {
      method: "POST",
      headers: { "content-type": whep.contentType },
      body: sdp,
      signal: joinSignals(signal, AbortSignal.timeout(requestTimeoutMs)),
    });
  } catch (error) {
    throw new ApiError("unreachable", "The API did not respond.", { cause: error });
  }
  if (response.ok) return response.text();
  throw responseError(
    response.status,
    response.headers.get("retry-after"),
    await response.json().catch(() => undefined),
  );
}

/** Returns the relays for a connection; empty if the installation has none. */
export async function readIceServers(signal: AbortSignal): Promise<RTCIceServer[]> {
  return toRtcIceServers(await request(IceServersResponse, iceServersPath, { signal }));
}

/** Returns the relays as RTCPeerConnection takes them. */
export function toRtcIceServers({ iceServers }: IceServersResponse): RTCIceServer[] {
  return iceServers.map(({ urls, username, credential }) => ({
    urls,
    ...(username !== undefined && { username }),
    ...(credential !== undefined && { credential }),
  }));
}
