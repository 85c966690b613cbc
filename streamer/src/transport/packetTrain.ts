import type { Arrival } from "./arrivals.ts";

/** Packets that are sent within this time of the one before belong to its train: those of a picture, or of several that are spread over time. */
const maxSentGapMs = 5;
/** A train of fewer packets says nothing, nor does one that arrives as quickly as it was sent, or nearly so. */
const minPackets = 6;
const minSpreadMs = 15;
/** Of a longer train these are the last packets. */
const maxPackets = 32;

/** The last packets that were sent one right after the other. */
export interface PacketTrain {
  add(arrival: Arrival): void;
  /**
   * Returns the rate at which they arrived, in kbit/s: a path that they fill carries no more. The longest gap is left out, for a link or a browser may stand still for
   * a moment. While there are few packets it is the rate of the train before. Undefined when they are spread no further than they were when they were sent.
   */
  arrivedKbps(): number | undefined;
}

/** Returns a train without packets. It tells that a path is narrow by the first picture, and a trend of delays by the third, which by then has waited for two. */
export function createPacketTrain(): PacketTrain {
  let packets: Arrival[] = [];
  let formerKbps: number | undefined;
  const arrivedKbps = () => packets.length < minPackets ? formerKbps : arrivedKbpsOf(packets);
  return {
    add(arrival) {
      const last = packets.at(-1);
      if (last && arrival.sentAtMs - last.sentAtMs > maxSentGapMs) {
        formerKbps = packets.length < minPackets ? undefined : arrivedKbpsOf(packets);
        packets = [];
      }
      packets = [...packets.slice(1 - maxPackets), arrival];
    },
    arrivedKbps,
  };
}

function arrivedKbpsOf(packets: readonly Arrival[]): number | undefined {
  const [first, last] = [packets[0], packets.at(-1)];
  if (!first || !last) return undefined;
  const gaps = packets.slice(1).map(({ arrivedAtMs, bytes }, index) => ({ ms: arrivedAtMs - (packets[index]?.arrivedAtMs ?? arrivedAtMs), bytes }));
  const longest = gaps.reduce((longer, gap) => (gap.ms > longer.ms ? gap : longer));
  const spanMs = last.arrivedAtMs - first.arrivedAtMs - longest.ms;
  const bits = (gaps.reduce((sum, { bytes }) => sum + bytes, 0) - longest.bytes) * 8;
  return spanMs - (last.sentAtMs - first.sentAtMs) < minSpreadMs ? undefined : bits / spanMs;
}
