/** RTP timestamps a second of every video codec. */
export const videoClockRate = 90_000;

/** RTP timestamps a second of Opus, whatever it was sampled at. */
export const audioClockRate = 48_000;

const fixedHeaderBytes = 12;
/** Of a packet's length within a picture. */
const lengthBytes = 2;
const extensionFlag = 0x10;
const markerFlag = 0x80;
const oneByteProfile = 0xbede;

/**
 * The header fields that packets of one track have for its browser. Extension ids are undefined when they
 * were not offered.
 */
export interface TrackHeader {
  payloadType: number;
  ssrc: number;
  transportSequenceId: number | undefined;
  playoutDelayId: number | undefined;
  /** How long a browser may hold a frame back, at most; 0 when absent. */
  playoutDelayMs?: number;
}

/**
 * Returns the packets of a picture, which the media child hands on as one: each after its length of two
 * bytes, the higher one first. They share the picture's memory. Throws RangeError when it ends within a
 * packet.
 */
export function packetsOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer[] {
  const picture = Buffer.from(buffer, byteOffset, byteLength);
  const packets: Buffer[] = [];
  for (let at = 0; at < byteLength;) {
    const from = at + lengthBytes;
    at = from + picture.readUInt16BE(at);
    if (at > byteLength) throw new RangeError(`A picture of ${byteLength} bytes ends within a packet.`);
    packets.push(picture.subarray(from, at));
  }
  return packets;
}

/** The RTP sequence number. */
export function sequenceOf(packet: Buffer): number {
  return packet.readUInt16BE(2);
}

/**
 * Returns the packet for a browser: with its payload type and SSRC, and the header extensions it understands.
 * A playout delay of 0 to 0 tells it to show frames as they come, which saves some 30 ms; the lower bound is
 * always 0. The encoder's packets carry no extension of their own.
 */
export function rewritePacket(packet: Buffer, header: TrackHeader, transportSequence: number): Buffer {
  const extension: number[] = [];
  if (header.transportSequenceId !== undefined) {
    extension.push(
      (header.transportSequenceId << 4) | 1,
      (transportSequence >> 8) & 0xff,
      transportSequence & 0xff,
    );
  }
  if (header.playoutDelayId !== undefined)
    extension.push((header.playoutDelayId << 4) | 2, 0, ...playoutDelay(header));
  while (extension.length % 4 !== 0) extension.push(0);

  const extensionBytes = extension.length > 0 ? 4 + extension.length : 0;
  const rewritten = Buffer.allocUnsafe(packet.length + extensionBytes);
  packet.copy(rewritten, 0, 0, fixedHeaderBytes);
  packet.copy(rewritten, fixedHeaderBytes + extensionBytes, fixedHeaderBytes);
  if (extensionBytes > 0) {
    rewritten[0] = (packet[0] ?? 0) | extensionFlag;
    rewritten.writeUInt16BE(oneByteProfile, fixedHeaderBytes);
    rewritten.writeUInt16BE(extension.length / 4, fixedHeaderBytes + 2);
    rewritten.set(extension, fixedHeaderBytes + 4);
  }
  rewritten[1] = ((packet[1] ?? 0) & markerFlag) | header.payloadType;
  rewritten.writeUInt32BE(header.ssrc, 8);
  return rewritten;
}

/** The upper bound has 12 bits, in units of 10 ms. The 12 bits of the lower bound before it are 0. */
function playoutDelay({ playoutDelayMs = 0 }: TrackHeader): [number, number] {
  const units = Math.min(0xfff, Math.round(playoutDelayMs / 10));
  return [units >> 8, units & 0xff];
}
