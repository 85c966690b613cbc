import type { Clock } from "#runtime/scheduling/clock.ts";
import { sequenceOf } from "../rtp/rtpPacket.ts";

/** A browser that misses a packet for longer than this is better served by a new key frame. */
const maxAgeMs = 1_000;
/**
 * The transport encrypts a packet again that is up to 1024 packets old (the replay window of SRTP), and
 * throws for an older one.
 */
const maxDistance = 1_000;
/** A browser asks again after a round trip; a packet that is on its way is not sent twice. */
const minResendGapMs = 40;
/** Packets sent again may take this share of the rate; more would keep a congested path congested. */
const rateShare = 0.25;
/** So much may be sent again at once, as the time that it takes at the present rate. */
const burstMs = 120;
const minBurstBytes = 12_000;
const sequenceCount = 65_536;

export interface RetransmitterOptions {
  clock: Pick<Clock, "monotonicMs">;
  /** What the path carries. */
  rateKbps: () => number;
  resend: (packet: Buffer) => void;
  /** Asks for a key frame; returns false when one was asked for a moment ago. */
  requestKeyFrame: () => boolean;
}

/** Sends again what a browser missed. */
export interface Retransmitter {
  sent(packet: Buffer): void;
  /** Sends these packets again, or asks for a key frame when that is less than the missing packets. */
  respond(lost: readonly number[]): void;
  /** Sends nothing again of what was sent up to now: a key frame follows. */
  forget(): void;
}

interface Sent {
  packet: Buffer;
  sentAt: number;
  resentAt: number;
}

/**
 * Returns a retransmitter with a budget. Without a budget, packets that are sent again are dropped by the
 * same full queue as before, and asked for again: the path then carries nothing else.
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
      const sequence = sequenceOf(packet);
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
        if (requestKeyFrame()) forget(); // The key frame needs none of what came before it.
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
