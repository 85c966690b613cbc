const rtpHeaderBytes = 12;
const followsFlag = 0x80;
/** Limits of a block header: 14 bits of timestamp offset, 10 bits of length. */
const maxTimestampOffset = 0x3fff;
const maxBlockBytes = 0x3ff;

/** Repeats each audio packet in the next one (RFC 2198), so that a single lost packet is inaudible. */
export interface Redundancy {
  /** Returns the packet with its predecessor inside. */
  wrap(packet: Buffer): Buffer;
}

/**
 * Returns a redundancy for packets of this payload type, without header extensions and contributing sources.
 */
export function createRedundancy(payloadType: number): Redundancy {
  let previous: { sequence: number; timestamp: number; payload: Buffer } | undefined;
  return {
    wrap(packet) {
      const current = {
        sequence: packet.readUInt16BE(2),
        timestamp: packet.readUInt32BE(4),
        payload: packet.subarray(rtpHeaderBytes),
      };
      const offset = previous ? (current.timestamp - previous.timestamp) >>> 0 : Infinity;
      const isRepeatable =
        previous !== undefined &&
        offset <= maxTimestampOffset &&
        previous.payload.length <= maxBlockBytes &&
        current.sequence === ((previous.sequence + 1) & 0xffff);
      const repeated = isRepeatable ? previous?.payload : undefined;
      previous = current;
      const header = packet.subarray(0, rtpHeaderBytes);
      if (!repeated) return Buffer.concat([header, Buffer.of(payloadType), current.payload]);
      const block = Buffer.of(
        followsFlag | payloadType,
        offset >> 6,
        ((offset & 0x3f) << 2) | (repeated.length >> 8),
        repeated.length & 0xff,
        payloadType,
      );
      return Buffer.concat([header, block, repeated, current.payload]);
    },
  };
}
