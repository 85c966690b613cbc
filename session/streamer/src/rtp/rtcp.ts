const transportLayerFeedback = 205;
const payloadSpecificFeedback = 206;
const nack = 1;
const transportWide = 15;
const pictureLossIndication = 1;
const fullIntraRequest = 4;
const feedbackHeaderBytes = 12;

/** Browser reports that the streamer acts on. */
export type RtcpEvent =
  | { type: "keyFrameRequest" }
  /** RTP sequence numbers of lost packets. */
  | { type: "nack"; lost: number[] }
  | { type: "feedback"; feedback: TransportFeedback };

/** Returns the events of a compound RTCP packet. Skips unknown, truncated and malformed ones. */
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

/** Parses a generic NACK (RFC 4585): pairs of a sequence number and a bit mask of the next sixteen. */
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

const headerBytes = 20;
/** Browsers report at least ten times a second, and no stream sends more packets than this in 100 ms. */
const maxPackets = 4_096;
const referenceUnitMs = 64;
const deltaUnitMs = 0.25;
/** The reference time has 24 bits. */
export const clockPeriodMs = 2 ** 24 * referenceUnitMs;
const vectorFlag = 0x8000;
const twoBitFlag = 0x4000;

/** One packet of a report. */
interface PacketReport {
  /** Transport-wide sequence number, 16 bits. */
  sequence: number;
  /**
   * Arrival time on the browser's clock, which wraps after `clockPeriodMs`; null for a packet that has not
   * arrived.
   */
  arrivedAtMs: number | null;
}

/** A transport-wide congestion control report. */
export type TransportFeedback = PacketReport[];

type Symbol = 0 | 1 | 2 | 3;

/**
 * Parses a feedback packet (draft-holmer-rmcat-transport-wide-cc-extensions-01): base sequence number and
 * time, run-length or vector chunks of packet states, then arrival deltas. Returns undefined when it is
 * truncated or claims an impossible number of packets.
 */
export function parseTransportFeedback(packet: Buffer): TransportFeedback | undefined {
  if (packet.length < headerBytes) return undefined;
  const baseSequence = packet.readUInt16BE(12);
  const count = packet.readUInt16BE(14);
  const states = count > maxPackets ? undefined : readStates(packet, count);
  if (!states) return undefined;
  let arrivedAtMs = packet.readIntBE(16, 3) * referenceUnitMs;
  let offset = states.end;
  const reports: TransportFeedback = [];
  for (const [index, state] of states.symbols.entries()) {
    const sequence = (baseSequence + index) & 0xffff;
    const deltaBytes = state === 0 ? 0 : state === 1 ? 1 : 2;
    if (offset + deltaBytes > packet.length) return undefined;
    if (deltaBytes > 0) {
      arrivedAtMs += deltaUnitMs * (deltaBytes === 1 ? packet.readUInt8(offset) : packet.readInt16BE(offset));
      offset += deltaBytes;
    }
    reports.push({ sequence, arrivedAtMs: deltaBytes === 0 ? null : arrivedAtMs });
  }
  return reports;
}

function readStates(packet: Buffer, count: number): { symbols: Symbol[]; end: number } | undefined {
  const symbols: Symbol[] = [];
  let offset = headerBytes;
  while (symbols.length < count) {
    if (offset + 2 > packet.length) return undefined;
    for (const symbol of readChunk(packet.readUInt16BE(offset), count - symbols.length)) symbols.push(symbol);
    offset += 2;
  }
  return { symbols, end: offset };
}

/** Returns at most `most` states of a chunk. The last chunk may hold more states than there are packets. */
function readChunk(chunk: number, most: number): Symbol[] {
  // masked to two bits at most
  const at = (shift: number, mask: number) => ((chunk >> shift) & mask) as Symbol;
  if ((chunk & vectorFlag) === 0) return new Array<Symbol>(Math.min(chunk & 0x1fff, most)).fill(at(13, 3));
  return (chunk & twoBitFlag) !== 0
    ? Array.from({ length: Math.min(7, most) }, (_, index) => at(12 - 2 * index, 3))
    : Array.from({ length: Math.min(14, most) }, (_, index) => at(13 - index, 1));
}
