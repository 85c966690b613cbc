/** Why a browser shows no games, for the player. */
export const cannotStream =
  "This browser cannot show the game: it has no WebRTC, or WebRTC is switched off in it.";

/** Returns whether the browser has WebRTC, and it is on. */
export function canStream(): boolean {
  return "RTCPeerConnection" in globalThis;
}
