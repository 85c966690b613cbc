import type { Clock } from "#runtime/scheduling/clock.ts";
import { readSequence } from "../rtp/rtpPacket.ts";

/** A browser that has missed a packet for longer than this is better served by a new key frame. */
const maxAgeMs = 1_000;
/**
 * The transport re-encrypts packets that are at most 1024 packets old (SRTP replay window) and throws for
 * older ones.
 */
const maxDistance = 1_000;
/** A browser repeats a request after a round trip. A packet that is already on its way is not sent twice. */
const minResendGapMs = 40;
/** Share of the rate for retransmissions. More would keep a congested path congested. */
const rateShare = 0.25;
/** Burst of retransmissions, as time at the current rate. */
const burstMs = 120;
const minBurstBytes = 12_000;
const sequenceCount = 65_536;

export interface RetransmitterOptions {
  clock: Pick<Clock, "monotonicMs">;
  /** Returns the current rate. */
  rateKbps: () => number;
  resend: (packet: Buffer) => void;
  /** Requests a key frame. Returns false if one was requested a moment ago. */
  requestKeyFrame: () => boolean;
}

/** Retransmits packets that a browser missed. */
export interface Retransmitter {
  sent(packet: Buffer): void;
  /** Retransmits these packets, or requests a key frame if the budget does not cover them. */
  respond(lost: readonly number[]): void;
  /** Forgets everything sent so far, because a key frame follows. */
  forget(): void;
}

interface Sent {
  packet: Buffer;
  sentAt: number;
  resentAt: number;
}

/**
 * Returns a retransmitter with a budget. Without one, retransmissions are dropped by the same full queue and
 * requested again, until the path carries nothing else.
 */
export function createRetransmitter({
  clock,
  rateKbps,
  resend,
  requestKeyFrame,
}: RetransmitterOptions): Retransmitter {
  const history = new Array<Sent | undefined>(sequenceCount);
  const sequences: number[] = [];
  let spentBytes = 0;
  let refilledAt = clock.monotonicMs();

  const forgetWhile = (isPast: (sent: Sent, sequence: number) => boolean) => {
    for (let first = sequences[0]; first !== undefined; first = sequences[0]) {
      const sent = history[first];
      if (sent && !isPast(sent, first)) return;
      history[first] = undefined;
      sequences.shift();
    }
  };
  const forget = () => forgetWhile(() => true);
  const budgetBytes = (at: number) => {
    const bytesPerMs = rateKbps() / 8;
    spentBytes = Math.max(0, spentBytes - (at - refilledAt) * bytesPerMs * rateShare);
    refilledAt = at;
    return Math.max(minBurstBytes, bytesPerMs * burstMs) - spentBytes;
  };

  return {
    sent(packet) {
      const at = clock.monotonicMs();
      const sequence = readSequence(packet);
      forgetWhile(
        ({ sentAt }, first) => at - sentAt > maxAgeMs || ((sequence - first) & 0xffff) >= maxDistance,
      );
      history[sequence] = { packet, sentAt: at, resentAt: -Infinity };
      sequences.push(sequence);
    },
    respond(lost) {
      const at = clock.monotonicMs();
      forgetWhile(({ sentAt }) => at - sentAt > maxAgeMs);
      const missing = lost
        .flatMap((sequence) => history[sequence] ?? [])
        .filter(({ resentAt }) => at - resentAt >= minResendGapMs);
      const bytes = missing.reduce((sum, { packet }) => sum + packet.length, 0);
      if (bytes > budgetBytes(at)) {
        if (requestKeyFrame()) forget(); // The key frame does not depend on earlier packets.
        return;
      }
      spentBytes += bytes;
      for (const sent of missing) {
        sent.resentAt = at;
        resend(sent.packet);
      }
    },
    forget,
  };
}
