import type { Arrival } from "./arrivals.ts";

/** Packets that are sent within this time of the one before belong to its train: those of a picture, or of several that are spread over time. */
const maxSentGapMs = 5;
/** A train of fewer packets says nothing, nor does one that arrives as quickly as it was sent, or nearly so. */
const minPackets = 6;
const minSpreadMs = 15;
/** Of a longer train these are the last packets. */
const maxPackets = 32;
/** Packets that arrive at less than this share of what is sent fill a queue, however short that is yet. */
const overrunShare = 0.6;
/** Where they did and no queue came of it, a browser or a machine is busy now and then. */
const distrustMs = 10_000;

/** The last packets that were sent one right after the other. */
export interface PacketTrain {
  add(arrival: Arrival): void;
  /** Returns whether they arrived so far apart that the path carries much less than this rate, in kbit/s: a queue will grow that no packet has met yet. */
  overruns(kbps: number): boolean;
  /** It has overrun what was no narrow path: for some seconds it overruns nothing. */
  distrust(): void;
  /** When the last of them was sent; -Infinity before the first. */
  lastSentAt(): number;
}

/**
 * Returns a train without packets; `now` is in milliseconds. It tells that a path is narrow by the first picture, and a trend of delays by the third, which by then has
 * waited for two.
 */
export function createPacketTrain(now: () => number): PacketTrain {
  let packets: Arrival[] = [];
  let formerKbps = Infinity;
  let trustedFrom = -Infinity;
  const lastSentAt = () => packets.at(-1)?.sentAtMs ?? -Infinity;
  return {
    add(arrival) {
      if (arrival.sentAtMs - lastSentAt() > maxSentGapMs) {
        formerKbps = arrivedKbps(packets) ?? Infinity;
        packets = [];
      }
      packets = [...packets.slice(1 - maxPackets), arrival];
    },
    overruns: (kbps) => now() >= trustedFrom && (arrivedKbps(packets) ?? formerKbps) < kbps * overrunShare,
    distrust() {
      trustedFrom = now() + distrustMs;
    },
    lastSentAt,
  };
}

/**
 * Returns the rate at which the packets arrived, in kbit/s: Infinity when they arrived nearly as quickly as they were sent, undefined when they are few. The longest
 * gap is left out, for a link or a browser may stand still for a moment.
 */
function arrivedKbps(packets: readonly Arrival[]): number | undefined {
  const [first, last] = [packets[0], packets.at(-1)];
  if (!first || !last || packets.length < minPackets) return undefined;
  const gaps = packets.slice(1).map(({ arrivedAtMs, bytes }, index) => ({ ms: arrivedAtMs - (packets[index]?.arrivedAtMs ?? arrivedAtMs), bytes }));
  const longest = gaps.reduce((longer, gap) => (gap.ms > longer.ms ? gap : longer));
  const spanMs = last.arrivedAtMs - first.arrivedAtMs - longest.ms;
  const bits = (gaps.reduce((sum, { bytes }) => sum + bytes, 0) - longest.bytes) * 8;
  return spanMs - (last.sentAtMs - first.sentAtMs) < minSpreadMs ? Infinity : bits / spanMs;
}
