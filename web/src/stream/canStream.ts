/** Returns whether the browser has WebRTC and it is switched on. */
export function canStream(): boolean {
  return "RTCPeerConnection" in globalThis;
}
