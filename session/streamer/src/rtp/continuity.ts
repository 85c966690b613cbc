import type { Clock } from "#runtime/scheduling/clock.ts";
const sequenceMask = 0xffff;

/** Renumbers RTP packets so that a sequence of encoders looks like a single one to a browser. */
export interface Continuity {
  /** Rewrites sequence number and timestamp in place. */
  apply(packet: Buffer): void;
  /** Call it before the first packet of a new encoder, whose numbers start anywhere. */
  restart(): void;
}

/**
 * Returns a continuity for this clock rate. The first packet of a new encoder gets the next sequence number
 * and the timestamp that matches the elapsed time. Without this, browsers never show video again.
 */
export function createContinuity(clockRate: number, clock: Pick<Clock, "monotonicMs">): Continuity {
  let sequenceOffset = 0;
  let timestampOffset = 0;
  let last: { sequence: number; timestamp: number; at: number } | undefined;
  let isFirst = true;
  return {
    restart() {
      isFirst = true;
    },
    apply(packet) {
      const ownSequence = packet.readUInt16BE(2);
      const ownTimestamp = packet.readUInt32BE(4);
      if (isFirst && last) {
        sequenceOffset = last.sequence + 1 - ownSequence;
        timestampOffset =
          last.timestamp + Math.round(((clock.monotonicMs() - last.at) * clockRate) / 1000) - ownTimestamp;
      }
      isFirst = false;
      const sequence = (ownSequence + sequenceOffset) & sequenceMask;
      const timestamp = (ownTimestamp + timestampOffset) >>> 0;
      packet.writeUInt16BE(sequence, 2);
      packet.writeUInt32BE(timestamp, 4);
      last = { sequence, timestamp, at: clock.monotonicMs() };
    },
  };
}
