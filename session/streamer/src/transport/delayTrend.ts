import type { Arrival } from "./arrivals.ts";

/**
 * Packets sent within this time of the first are one burst, mostly a picture. Its delay is that of the packet
 * that was held up least.
 */
const burstMs = 5;
const windowMs = 400;
const windowPictures = 12;
const minBursts = 6;
/** So many bursts in a row must show the rise, so that a single burst that was held up does not. */
const minRisingBursts = 2;
/**
 * A picture that is handed over packet by packet, for this many pictures longer than it was sent, and is in
 * the way of the next one for as long: the path passes less than half of what is sent. A browser that was
 * busy hands over at once what it had not read.
 */
const overrunPictures = 1.5;
const minGaps = 4;
/**
 * The threshold follows what the path shows without congestion: slowly up, so that a real rise is not
 * learned, faster down.
 */
const minThresholdMs = 20;
const maxThresholdMs = 150;
const learnUp = 0.02;
const learnDown = 0.05;
/** A rise so far above the threshold is congestion, nothing to learn from. */
const learnableExcessMs = 15;

interface Burst {
  sentAtMs: number;
  arrivedAtMs: number;
  delayMs: number;
  lastSentAtMs: number;
  lastArrivedAtMs: number;
  /** Between its packets, as they arrived. */
  gapsMs: number[];
}

/** Whether the delay to the browser grows: a queue fills, long before packets are lost. */
export interface DelayTrend {
  add(arrival: Arrival): void;
  /**
   * Milliseconds by which the delay rose over the last bursts, as a line through them says; 0 while there are
   * few.
   */
  riseMs(): number;
  isRising(): boolean;
  /** Forgets the bursts so far, because packets that were sent before a lower rate say nothing about it. */
  restart(): void;
}

/**
 * Returns the trend of one-way delays: the slope of a line fitted to the delays of the last bursts, times the
 * time it spans, against a threshold that adapts to the path's ordinary jitter. `pictureMs` lie between two
 * pictures.
 */
export function createDelayTrend(pictureMs: () => number): DelayTrend {
  let bursts: Burst[] = [];
  let current: Burst | undefined;
  let thresholdMs = minThresholdMs;
  let rise = 0;
  let risingBursts = 0;

  const isFalling = (burst: Burst, previous: Burst | undefined) =>
    previous !== undefined && burst.delayMs < previous.delayMs;
  const isOverrunBy = (burst: Burst, previous: Burst | undefined) => {
    const limitMs = Math.max(thresholdMs, pictureMs() * overrunPictures);
    return (
      previous !== undefined && stretchMs(previous) > limitMs && burst.delayMs - previous.delayMs > limitMs
    );
  };
  const finishBurst = (burst: Burst) => {
    const previous = bursts.at(-1);
    const spanMs = Math.max(windowMs, pictureMs() * windowPictures);
    bursts = [...bursts.filter(({ arrivedAtMs }) => burst.arrivedAtMs - arrivedAtMs < spanMs), burst];
    rise = riseOf(bursts);
    risingBursts = rise > thresholdMs && !isFalling(burst, previous) ? risingBursts + 1 : 0;
    const excess = Math.abs(rise) - thresholdMs;
    if (excess < learnableExcessMs) thresholdMs += excess * (excess > 0 ? learnUp : learnDown);
    thresholdMs = Math.min(maxThresholdMs, Math.max(minThresholdMs, thresholdMs));
  };

  return {
    add({ sentAtMs, arrivedAtMs }) {
      if (current && sentAtMs - current.sentAtMs <= burstMs) {
        current.delayMs = Math.min(current.delayMs, arrivedAtMs - sentAtMs);
        current.gapsMs.push(arrivedAtMs - current.lastArrivedAtMs);
        current.lastSentAtMs = sentAtMs;
        current.lastArrivedAtMs = arrivedAtMs;
        return;
      }
      if (current) finishBurst(current);
      current = {
        sentAtMs,
        arrivedAtMs,
        delayMs: arrivedAtMs - sentAtMs,
        lastSentAtMs: sentAtMs,
        lastArrivedAtMs: arrivedAtMs,
        gapsMs: [],
      };
    },
    riseMs: () => rise,
    isRising() {
      if (!current || risingBursts >= minRisingBursts) return risingBursts >= minRisingBursts;
      if (isOverrunBy(current, bursts.at(-1))) return true;
      // On a narrow path a picture takes long to arrive: its first packets already say how late it is.
      const isStillRising = riseOf([...bursts, current]) > thresholdMs && !isFalling(current, bursts.at(-1));
      return isStillRising && risingBursts + 1 >= minRisingBursts;
    },
    restart() {
      bursts = [];
      rise = 0;
      risingBursts = 0;
    },
  };
}

/**
 * How much longer the burst took to arrive than to be sent, at the pace of most of its packets; 0 of few
 * packets.
 */
function stretchMs({ gapsMs, sentAtMs, lastSentAtMs }: Burst): number {
  const median = gapsMs.toSorted((a, b) => a - b)[Math.floor(gapsMs.length / 2)] ?? 0;
  return gapsMs.length < minGaps ? 0 : median * gapsMs.length - (lastSentAtMs - sentAtMs);
}

/** Least squares of delay over arrival time. */
function riseOf(bursts: readonly Burst[]): number {
  if (bursts.length < minBursts) return 0;
  const [meanTime, meanDelay] = [
    mean(bursts.map(({ arrivedAtMs }) => arrivedAtMs)),
    mean(bursts.map(({ delayMs }) => delayMs)),
  ];
  let [covariance, variance] = [0, 0];
  for (const burst of bursts) {
    const offset = burst.arrivedAtMs - meanTime;
    covariance += offset * (burst.delayMs - meanDelay);
    variance += offset * offset;
  }
  const spanMs = (bursts.at(-1)?.arrivedAtMs ?? 0) - (bursts[0]?.arrivedAtMs ?? 0);
  return variance === 0 ? 0 : (covariance / variance) * spanMs;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
