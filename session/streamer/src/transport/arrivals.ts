import type { Clock } from "#runtime/scheduling/clock.ts";
import { clockPeriodMs, type TransportFeedback } from "../rtp/rtcp.ts";

const windowMs = 1_000;
const minReports = 10;
/** A queue holds up all packets of this time; a busy browser reads some of them late, but not the last. */
const recentMs = 50;
const recentPictures = 2.5;
/** Sequence numbers of transport-wide feedback have 16 bits. */
const sequenceCount = 65_536;
/**
 * The smallest delay is that of this time and of the one before it, because clocks drift and routes change.
 */
const baseDelayMs = 20_000;
const steadySpreadMs = 20;
/** A packet with so much delay above the smallest has waited. */
const waitedMs = 15;
const minWaited = 5;
/** Longer than radio links gather packets for. */
const minDrainMs = 10;

/** A packet that arrived: sent on this clock, arrived on the browser's. */
export interface Arrival {
  sentAtMs: number;
  arrivedAtMs: number;
}

/** What the reports of the last second say of the path. */
export interface PathMeasurement {
  /** The smallest delay of the last packets above the smallest ever seen. */
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

/** The packets sent and what the browser reported of them. */
export interface Arrivals {
  sent(sequence: number, bytes: number): void;
  /** Returns the packets that have arrived since the last report, in the order in which they were sent. */
  feedback(feedback: TransportFeedback): Arrival[];
  /**
   * Undefined while there are too few reports. Lost packets count, too: on a congested path few packets
   * arrive and many are lost.
   */
  measure(): PathMeasurement | undefined;
  /**
   * What arrived over the last `spanMs` of the browser's clock, in kbit/s; over more when that holds few
   * packets.
   */
  receivedKbps(spanMs: number): number;
  /**
   * Returns the rate at which the last packets that had waited arrived, in kbit/s, over half a second at
   * most. A queue hands over as much as the path carries; a browser that was busy hands over everything at
   * once. Undefined when few packets had waited.
   */
  drainKbps(): number | undefined;
  /** What was sent over the last `spanMs`, of a second at most, in kbit/s. */
  sentKbps(spanMs: number): number;
  /**
   * The delay that all packets of the last second had within a small spread; 0 when it changed, as that of a
   * queue that drains or fills does.
   */
  standingDelayMs(): number;
  /** Losses up to now say nothing of the path any more: their cause has ended. */
  forgetLosses(): void;
  /** Takes so much delay for the path's own from now on. */
  acceptDelay(delayMs: number): void;
}

/**
 * Returns the record of a connection's packets. `now` is in milliseconds, as is what lies between two
 * pictures.
 */
export function createArrivals(clock: Pick<Clock, "monotonicMs">, pictureMs: () => number): Arrivals {
  const sent = new Array<{ at: number; bytes: number; isReportedLost?: boolean } | undefined>(sequenceCount);
  let sendings: { at: number; bytes: number }[] = [];
  let known: Known[] = [];
  let base = { delayMs: Infinity, formerMs: Infinity, since: clock.monotonicMs() };
  const smallestDelayMs = () => Math.min(base.delayMs, base.formerMs);
  let lastArrivedAtMs: number | undefined;

  /** A session may go on while the browser's clock begins anew. */
  const unwrapped = (reportedMs: number): number => {
    const periods = Math.round(((lastArrivedAtMs ?? reportedMs) - reportedMs) / clockPeriodMs);
    return (lastArrivedAtMs = reportedMs + periods * clockPeriodMs);
  };
  const note = (sequence: number, reportedMs: number | null, at: number): Arrival | undefined => {
    const packet = sent[sequence];
    if (!packet) return undefined;
    if (reportedMs === null) {
      if (packet.isReportedLost === true) return undefined;
      packet.isReportedLost = true;
      known.push({ at, isLost: true, bytes: 0, queueMs: 0, arrivedAtMs: 0 });
      return undefined;
    }
    sent[sequence] = undefined; // A repeated report must not count twice.
    const arrivedAtMs = unwrapped(reportedMs);
    const delayMs = arrivedAtMs - packet.at;
    // Alone the new time would begin with the delay of a queue, if there is one, for the path's own.
    if (at - base.since > baseDelayMs) base = { delayMs: Infinity, formerMs: base.delayMs, since: at };
    base.delayMs = Math.min(base.delayMs, delayMs);
    known.push({ at, isLost: false, bytes: packet.bytes, queueMs: delayMs - smallestDelayMs(), arrivedAtMs });
    return { sentAtMs: packet.at, arrivedAtMs };
  };
  const forgetSendings = (at: number) => {
    sendings = sendings.filter((packet) => at - packet.at < windowMs);
  };
  const arrived = () => known.filter(({ isLost }) => !isLost);
  const shortestQueueMs = () => {
    const packets = arrived();
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
      // Some browsers never report. The packets of a whole second are dropped at a time: dropping them one by
      // one would move all the others each time.
      const oldestAt = sendings[0]?.at ?? packet.at;
      if (packet.at - oldestAt > 2 * windowMs) forgetSendings(packet.at);
    },
    feedback(feedback) {
      const at = clock.monotonicMs();
      const arrivals = feedback.flatMap(({ sequence, arrivedAtMs }) => note(sequence, arrivedAtMs, at) ?? []);
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
      const packets = arrived();
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
      const packets = arrived();
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
      const delays = arrived()
        .map(({ queueMs }) => queueMs)
        .sort((a, b) => a - b);
      const [low = 0, high = 0] = [
        delays[Math.floor(delays.length * 0.1)],
        delays[Math.floor(delays.length * 0.9)],
      ];
      return high - low < steadySpreadMs ? low : 0;
    },
    forgetLosses() {
      known = arrived();
    },
    acceptDelay(delayMs) {
      base.delayMs = base.formerMs = smallestDelayMs() + delayMs;
      for (const packet of known) packet.queueMs -= delayMs;
    },
  };
}
