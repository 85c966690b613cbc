import { parseTransportFeedback, type TransportFeedback } from "./transportFeedback.ts";

const transportLayerFeedback = 205;
const payloadSpecificFeedback = 206;
const nack = 1;
const transportWide = 15;
const pictureLossIndication = 1;
const fullIntraRequest = 4;
const feedbackHeaderBytes = 12;

/** What a browser reports that the streamer acts on. */
export type RtcpEvent =
  | { type: "keyFrameRequest" }
  /** RTP sequence numbers that did not arrive. */
  | { type: "nack"; lost: number[] }
  | { type: "feedback"; feedback: TransportFeedback };

/** Returns the events of a compound RTCP packet; skips what is unknown, truncated or malformed. */
export function readRtcp(compound: Buffer): RtcpEvent[] {
  const events: RtcpEvent[] = [];
  for (let offset = 0; offset + 4 <= compound.length;) {
    const length = (compound.readUInt16BE(offset + 2) + 1) * 4;
    const packet = compound.subarray(offset, offset + length);
    if (packet.length < length) break;
    const event = readPacket(packet);
    if (event) events.push(event);
    offset += length;
  }
  return events;
}

function readPacket(packet: Buffer): RtcpEvent | undefined {
  const format = packet.readUInt8(0) & 0x1f;
  const type = packet.readUInt8(1);
  if (type === payloadSpecificFeedback && (format === pictureLossIndication || format === fullIntraRequest))
    return { type: "keyFrameRequest" };
  if (type === transportLayerFeedback && format === nack) return { type: "nack", lost: readLost(packet) };
  if (type === transportLayerFeedback && format === transportWide) {
    const feedback = parseTransportFeedback(packet);
    return feedback && { type: "feedback", feedback };
  }
  return undefined;
}

/** A generic NACK (RFC 4585): pairs of a sequence number and a mask of the sixteen after it. */
function readLost(packet: Buffer): number[] {
  const lost: number[] = [];
  for (let offset = feedbackHeaderBytes; offset + 4 <= packet.length; offset += 4) {
    const first = packet.readUInt16BE(offset);
    const mask = packet.readUInt16BE(offset + 2);
    lost.push(first);
    for (let bit = 0; bit < 16; bit++) if (((mask >> bit) & 1) === 1) lost.push((first + bit + 1) & 0xffff);
  }
  return lost;
}
