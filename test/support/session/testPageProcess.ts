// A page that tests its connection, without a browser. Runs as a separate process, because the transport's
// threads would keep the test process alive.
import nodeDataChannel from "node-datachannel";
import { connectionTest, TestNotice } from "#contracts/connectionTest.ts";
import type { PeerOffer } from "./peerProcess.ts";
import type { PageCommand, PageEvent } from "./testPage.ts";

/** Does nothing once the tests have disconnected. */
const tell = (event: PageEvent | PeerOffer): void => {
  if (process.connected) process.send?.(event);
};

/** The transport needs a moment to notify the other side, which it cannot do once this process has ended. */
const leavingMs = 300;

const connection = new nodeDataChannel.PeerConnection("page", {
  iceServers: [],
  disableAutoNegotiation: true,
});
const control = connection.createDataChannel(connectionTest.controlChannel);
const packets = connection.createDataChannel(connectionTest.packetChannel, {
  unordered: true,
  maxRetransmits: 0,
});
control.onOpen(() => tell({ type: "open" }));
control.onMessage((message) => {
  if (typeof message === "string") tell({ type: "notice", notice: TestNotice.parse(JSON.parse(message)) });
});
packets.onMessage((packet) => {
  if (Buffer.isBuffer(packet)) tell({ type: "packet", bytes: packet.length });
});
connection.onStateChange((state) => {
  if (state === "closed" || state === "disconnected" || state === "failed") tell({ type: "closed" });
});
process.on("message", (command: PageCommand) => {
  if (command.type === "send") control.sendMessage(command.text);
  else {
    connection.setRemoteDescription(command.sdp, "answer");
    connection.addRemoteCandidate(command.candidate, "0");
  }
});
process.on("disconnect", leave);
connection.setLocalDescription("offer");
tell({ type: "offer", sdp: connection.localDescription()?.sdp ?? "" });

function leave(): void {
  connection.close();
  setTimeout(() => process.kill(process.pid, "SIGKILL"), leavingMs);
}
