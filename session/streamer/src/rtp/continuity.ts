import type { Clock } from "#runtime/scheduling/clock.ts";
const sequenceMask = 0xffff;

/** Renumbers RTP packets so that several encoders, one after another, look like one to a browser. */
export interface Continuity {
  /** Changes sequence number and timestamp in place. */
  apply(packet: Buffer): void;
  /** Call before the first packet of a new encoder, which has numbers of its own. */
  restart(): void;
}

/**
 * Returns a continuity at this clock rate. A restarted encoder begins anywhere: its first packet gets the
 * number after the last one and the timestamp that fits the time passed. Without it browsers never show video
 * again.
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
