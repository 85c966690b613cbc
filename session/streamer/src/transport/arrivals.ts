import type { Clock } from "#runtime/scheduling/clock.ts";
import { clockPeriodMs, type TransportFeedback } from "../rtp/rtcp.ts";

const windowMs = 1_000;
const minReports = 10;
/**
 * A queue delays all packets of this period. A busy browser reads some of them late, but not the last ones.
 */
const recentMs = 50;
const recentPictures = 2.5;
/** Transport-wide sequence numbers have 16 bits. */
const sequenceCount = 65_536;
/**
 * The smallest delay is taken over this period and the one before it, because clocks drift and routes change.
 */
const baseDelayMs = 20_000;
const steadySpreadMs = 20;
/** A packet with this much delay above the smallest was queued. */
const waitedMs = 15;
const minWaited = 5;
/** Longer than radio links aggregate packets. */
const minDrainMs = 10;

/** A packet that arrived: `sentAtMs` on this clock, `arrivedAtMs` on the browser's. */
export interface Arrival {
  sentAtMs: number;
  arrivedAtMs: number;
}

/** What the reports of the last second say about the path. */
export interface PathMeasurement {
  /** Smallest delay of the latest packets, above the smallest ever seen. */
  queueMs: number;
  /** Share of packets lost, 0 to 1. */
  loss: number;
}

interface Known {
  at: number;
  isLost: boolean;
  bytes: number;
  queueMs: number;
  arrivedAtMs: number;
}

/** Sent packets and the browser's reports about them. */
export interface Arrivals {
  sent(sequence: number, bytes: number): void;
  /** Returns the packets that arrived since the last report, in sending order. */
  feedback(feedback: TransportFeedback): Arrival[];
  /**
   * Returns undefined while there are too few reports. Lost packets count as reports: on a congested path few
   * packets arrive and many are lost.
   */
  measure(): PathMeasurement | undefined;
  /**
   * Returns the rate of arrival in kbit/s over the last `spanMs` of the browser's clock, or over more if that
   * holds few packets.
   */
  receivedKbps(spanMs: number): number;
  /**
   * Returns the arrival rate in kbit/s of the latest queued packets, over at most half a second; undefined
   * for few packets. A queue drains at the path's capacity, while a busy browser reads everything at once.
   */
  drainKbps(): number | undefined;
  /** Returns the sending rate in kbit/s over the last `spanMs`, at most a second. */
  sentKbps(spanMs: number): number;
  /**
   * Returns the delay that all packets of the last second share within a small spread; 0 when it varied, as
   * with a queue that drains or fills.
   */
  standingDelayMs(): number;
  /** Discards past losses, whose cause has ended. */
  forgetLosses(): void;
  /** Treats this much delay as the path's from now on. */
  acceptDelay(delayMs: number): void;
}

/** Returns the record of a connection's packets. `pictureMs` returns the time between two pictures. */
export function createArrivals(clock: Pick<Clock, "monotonicMs">, pictureMs: () => number): Arrivals {
  const sent = new Array<{ at: number; bytes: number; isReportedLost?: boolean } | undefined>(sequenceCount);
  let sendings: { at: number; bytes: number }[] = [];
  let known: Known[] = [];
  let base = { delayMs: Infinity, formerMs: Infinity, since: clock.monotonicMs() };
  const smallestDelayMs = () => Math.min(base.delayMs, base.formerMs);
  let lastArrivedAtMs: number | undefined;

  /** Unwraps the browser's clock, which may wrap during a session. */
  const unwrapClock = (reportedMs: number): number => {
    const periods = Math.round(((lastArrivedAtMs ?? reportedMs) - reportedMs) / clockPeriodMs);
    return (lastArrivedAtMs = reportedMs + periods * clockPeriodMs);
  };
  const recordReport = (sequence: number, reportedMs: number | null, at: number): Arrival | undefined => {
    const packet = sent[sequence];
    if (!packet) return undefined;
    if (reportedMs === null) {
      if (packet.isReportedLost === true) return undefined;
      packet.isReportedLost = true;
      known.push({ at, isLost: true, bytes: 0, queueMs: 0, arrivedAtMs: 0 });
      return undefined;
    }
    sent[sequence] = undefined; // A repeated report must not count twice.
    const arrivedAtMs = unwrapClock(reportedMs);
    const delayMs = arrivedAtMs - packet.at;
    // On its own, the new period would start with the delay of a queue, if there is one, as the path's.
    if (at - base.since > baseDelayMs) base = { delayMs: Infinity, formerMs: base.delayMs, since: at };
    base.delayMs = Math.min(base.delayMs, delayMs);
    known.push({ at, isLost: false, bytes: packet.bytes, queueMs: delayMs - smallestDelayMs(), arrivedAtMs });
    return { sentAtMs: packet.at, arrivedAtMs };
  };
  const forgetSendings = (at: number) => {
    sendings = sendings.filter((packet) => at - packet.at < windowMs);
  };
  const listArrived = () => known.filter(({ isLost }) => !isLost);
  const shortestQueueMs = () => {
    const packets = listArrived();
    const last = packets.at(-1)?.arrivedAtMs ?? 0;
    const spanMs = Math.max(recentMs, pictureMs() * recentPictures);
    return packets.reduce(
      (least, { arrivedAtMs, queueMs }) => (last - arrivedAtMs < spanMs ? Math.min(least, queueMs) : least),
      Infinity,
    );
  };

  return {
    sent(sequence, bytes) {
      const packet = { at: clock.monotonicMs(), bytes };
      sent[sequence] = packet;
      sendings.push(packet);
      // Some browsers never report. Packets are dropped a whole second at a time, because dropping them one
      // by one would move all others each time.
      const oldestAt = sendings[0]?.at ?? packet.at;
      if (packet.at - oldestAt > 2 * windowMs) forgetSendings(packet.at);
    },
    feedback(feedback) {
      const at = clock.monotonicMs();
      const arrivals = feedback.flatMap(
        ({ sequence, arrivedAtMs }) => recordReport(sequence, arrivedAtMs, at) ?? [],
      );
      known = known.filter((packet) => at - packet.at < windowMs);
      forgetSendings(at);
      return arrivals;
    },
    measure() {
      if (known.length < minReports) return undefined;
      const queueMs = shortestQueueMs();
      return {
        queueMs: queueMs === Infinity ? 0 : Math.max(0, queueMs),
        loss: known.filter(({ isLost }) => isLost).length / known.length,
      };
    },
    receivedKbps(spanMs) {
      const packets = listArrived();
      const last = packets.at(-1)?.arrivedAtMs ?? 0;
      const first = Math.max(
        0,
        Math.min(
          packets.findIndex(({ arrivedAtMs }) => arrivedAtMs > last - spanMs),
          packets.length - minReports,
        ),
      );
      const bits = packets.slice(first).reduce((sum, { bytes }) => sum + bytes, 0) * 8;
      return bits / Math.max(spanMs, last - (packets[first]?.arrivedAtMs ?? 0));
    },
    drainKbps() {
      const packets = listArrived();
      const last = packets.at(-1)?.arrivedAtMs ?? 0;
      const first =
        packets.findLastIndex(
          ({ arrivedAtMs, queueMs }) => queueMs <= waitedMs || last - arrivedAtMs > windowMs / 2,
        ) + 1;
      const waited = packets.slice(first);
      const spanMs = Math.max(minDrainMs, last - (waited[0]?.arrivedAtMs ?? 0));
      return waited.length < minWaited
        ? undefined
        : (waited.slice(1).reduce((sum, { bytes }) => sum + bytes, 0) * 8) / spanMs;
    },
    sentKbps(spanMs) {
      const since = clock.monotonicMs() - spanMs;
      return (sendings.reduce((sum, { at, bytes }) => (at > since ? sum + bytes : sum), 0) * 8) / spanMs;
    },
    standingDelayMs() {
      const delays = listArrived()
        .map(({ queueMs }) => queueMs)
        .sort((a, b) => a - b);
      const [low = 0, high = 0] = [
        delays[Math.floor(delays.length * 0.1)],
        delays[Math.floor(delays.length * 0.9)],
      ];
      return high - low < steadySpreadMs ? low : 0;
    },
    forgetLosses() {
      known = listArrived();
    },
    acceptDelay(delayMs) {
      base.delayMs = base.formerMs = smallestDelayMs() + delayMs;
      for (const packet of known) packet.queueMs -= delayMs;
    },
  };
}
