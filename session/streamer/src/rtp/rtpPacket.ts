/** RTP timestamp units per second of all video codecs. */
export const videoClockRate = 90_000;

/** RTP timestamp units per second of Opus, whatever the sample rate. */
export const audioClockRate = 48_000;

const fixedHeaderBytes = 12;
/** Size of a packet's length prefix within a picture. */
const lengthBytes = 2;
const extensionFlag = 0x10;
const markerFlag = 0x80;
const oneByteProfile = 0xbede;

/**
 * Header fields that a browser expects on one track. Extension ids are undefined if they were not offered.
 */
export interface TrackHeader {
  payloadType: number;
  ssrc: number;
  transportSequenceId: number | undefined;
  playoutDelayId: number | undefined;
  /** Maximum time that a browser may hold back a frame; 0 when absent. */
  playoutDelayMs?: number;
}

/**
 * Splits a picture from the media process into packets. Each is preceded by its length: two bytes,
 * big-endian. The packets share the picture's memory.
 *
 * @throws RangeError when the picture ends within a packet.
 */
export function splitPackets({ buffer, byteOffset, byteLength }: Uint8Array): Buffer[] {
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

/** Returns the RTP sequence number. */
export function readSequence(packet: Buffer): number {
  return packet.readUInt16BE(2);
}

/**
 * Returns the packet with the browser's payload type, SSRC and supported header extensions. The lower bound
 * of the playout delay is always 0. An upper bound of 0 makes the browser show frames immediately, which
 * saves about 30 ms. The encoder's packets have no extensions.
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
    extension.push((header.playoutDelayId << 4) | 2, 0, ...encodePlayoutDelay(header));
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

/** Encodes the bounds: 12 bits each, in units of 10 ms. The lower bound is 0. */
function encodePlayoutDelay({ playoutDelayMs = 0 }: TrackHeader): [number, number] {
  const units = Math.min(0xfff, Math.round(playoutDelayMs / 10));
  return [units >> 8, units & 0xff];
}
