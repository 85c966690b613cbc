// A viewer and its page, which reports the sender reports it receives. Runs as a separate process that is
// killed, because the transport's threads would keep the test process alive.
import { whep } from "#contracts/stream.ts";
import { audioClockRate, videoClockRate } from "#streamer/rtp/rtpPacket.ts";
import { createViewer } from "#streamer/transport/viewer.ts";
import { FakeClock } from "../clocks/fakeClock.ts";
import { eventually } from "../clocks/eventually.ts";
import { openLocalPage } from "./localPage.ts";
import { localViewer } from "./localViewer.ts";
import type { ReceivedReport, SentReports } from "./sentReports.ts";

const senderReport = 200;
/** Sizes of a report, and of the source description's header and SSRC after it. */
const nameOffset = 28 + 4 + 4;
const clock = new FakeClock();

const page = openLocalPage({ channels: [whep.dataChannel], hasMedia: true });
const opened = Promise.withResolvers<undefined>();
const viewer = createViewer(
  localViewer({
    id: "viewer",
    sdp: page.offer,
    udpPort: Number(process.argv[2]),
    onMediaOpen: () => opened.resolve(undefined),
    clock,
  }),
);
const received = page.tracks.map((track, index) => {
  const told = { reports: new Array<ReceivedReport>(), ssrc: 0 };
  track.onMessage((message) => {
    if (message[1] === senderReport)
      told.reports.push(readReport(message, index === 0 ? videoClockRate : audioClockRate));
    else told.ssrc = message.readUInt32BE(8);
  });
  return told;
});
const [picture, sound] = received;
if (!picture || !sound) throw new Error("The page offers no picture and sound.");

page.take(await viewer.open());
await Promise.all([opened.promise, eventually(page.isOpen, { what: "an open connection" })]);
viewer.sendVideo(packetOf(1, 0));
viewer.sendAudio(packetOf(1, 0));
await eventually(() => picture.ssrc !== 0 && picture.reports.length === 1 && sound.reports.length === 1, {
  what: "the first reports",
});
await clock.advance(500);
viewer.sendVideo(packetOf(2, videoClockRate / 2));
await clock.advance(500); // A report is due each second.
await eventually(
  () => {
    page.tracks[0]?.sendMessageBinary(nackOf(2, picture.ssrc));
    return picture.reports.length > 1;
  },
  { what: "the second report" },
);
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
const [first] = sound.reports;
if (first) process.send?.({ picture: picture.reports, sound: first } satisfies SentReports);

function readReport(message: Buffer, clockRate: number): ReceivedReport {
  const atMs = message.readUInt32BE(8) * 1_000 + (message.readUInt32BE(12) / 2 ** 32) * 1_000;
  const nameBytes = message.readUInt8(nameOffset + 1);
  return {
    atMs,
    mediaMs: (message.readUInt32BE(16) / clockRate) * 1_000,
    name: message.toString("latin1", nameOffset + 2, nameOffset + 2 + nameBytes),
  };
}

function packetOf(sequence: number, timestamp: number): Buffer {
  const packet = Buffer.alloc(100);
  packet.writeUInt8(0x80, 0);
  packet.writeUInt16BE(sequence, 2);
  packet.writeUInt32BE(Math.round(timestamp), 4);
  return packet;
}

/** Builds a generic NACK (RFC 4585). */
function nackOf(sequence: number, ssrc: number): Buffer {
  const nack = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  nack.writeUInt32BE(ssrc, 8);
  nack.writeUInt16BE(sequence, 12);
  return nack;
}
