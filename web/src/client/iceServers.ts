import type { IceServersResponse } from "#contracts/http/iceServers.ts";

/** Where the API says which relays there are. */
export const iceServersAddress = "/api/stream/ice-servers";

/** Returns the relays as RTCPeerConnection takes them. */
export function rtcIceServersOf({ iceServers }: IceServersResponse): RTCIceServer[] {
  return iceServers.map(({ urls, username, credential }) => ({
    urls,
    ...(username !== undefined && { username }),
    ...(credential !== undefined && { credential }),
  }));
}
