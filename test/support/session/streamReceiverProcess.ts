// A WHEP player that shows no picture, for the codec named by its argument. Runs as a separate process,
// because the transport's threads would keep the test process alive.
import nodeDataChannel from "node-datachannel";
import { LongestFrameGap } from "./frameGap.ts";
import type { PeerOffer } from "./peerProcess.ts";
import type { ReceiverCommand, ReceiverEvent } from "./streamReceiver.ts";

const tell = (event: ReceiverEvent | PeerOffer): void => void process.send?.(event);

const connection = new nodeDataChannel.PeerConnection("receiver", {
  iceServers: [],
  disableAutoNegotiation: true,
});
const video = new nodeDataChannel.Video("video", "RecvOnly");
const parameters = new Map([
  ["H264", "profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1"],
  ["H265", "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST"],
]);
const codec = process.argv[2] ?? "H264";
video.addVideoCodec(96, codec, parameters.get(codec));
const track = connection.addTrack(video);
track.setMediaHandler(new nodeDataChannel.RtcpReceivingSession());

/** All packets of a frame share one timestamp. */
const timestampOffset = 4;
let timestamp: number | undefined;
const gaps = new LongestFrameGap();

track.onMessage((packet) => {
  const next = packet.readUInt32BE(timestampOffset);
  if (next === timestamp) return;
  timestamp = next;
  if (gaps.isBeforeFirstFrame) tell({ type: "frame" });
  gaps.noteFrame();
});
connection.onStateChange((state) => {
  if (state === "closed" || state === "disconnected" || state === "failed") tell({ type: "lost" });
});
process.on("message", (command: ReceiverCommand) => {
  if (command.type === "take") connection.setRemoteDescription(command.sdp, "answer");
  else tellLongestGap();
});
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
connection.onGatheringStateChange((state) => {
  if (state === "complete") tell({ type: "offer", sdp: connection.localDescription()?.sdp ?? "" });
});
connection.setLocalDescription("offer");

function tellLongestGap(): void {
  // Also keeps a reference to the track, because the transport ends unreferenced tracks.
  if (!track.isOpen()) tell({ type: "lost" });
  tell({ type: "longestGap", gap: gaps.take() });
}
