import type { Arrival } from "./arrivals.ts";

/**
 * Packets sent within this time of the first form a burst, usually a picture. Its delay is that of the least
 * delayed packet.
 */
const burstMs = 5;
const windowMs = 400;
const windowPictures = 12;
const minBursts = 6;
/** Number of consecutive bursts that must show the rise, so that a single delayed burst does not count. */
const minRisingBursts = 2;
/**
 * A picture overruns the path if its packets arrive spread over this many picture intervals longer than they
 * were sent, and delay the next picture by as much: the path carries less than half of what is sent. A busy
 * browser instead reads everything at once.
 */
const overrunPictures = 1.5;
const minGaps = 4;
/**
 * The threshold adapts to the path's uncongested behaviour: slowly up, so that it does not learn a real rise,
 * faster down.
 */
const minThresholdMs = 20;
const maxThresholdMs = 150;
const learnUp = 0.02;
const learnDown = 0.05;
/** A rise this far above the threshold is congestion and must not be learned. */
const learnableExcessMs = 15;

interface Burst {
  sentAtMs: number;
  arrivedAtMs: number;
  delayMs: number;
  lastSentAtMs: number;
  lastArrivedAtMs: number;
  /** Gaps between its packets at arrival. */
  gapsMs: number[];
}

/** Detects a growing delay to the browser: a queue that fills, long before packets are lost. */
export interface DelayTrend {
  add(arrival: Arrival): void;
  /**
   * Returns by how many milliseconds the delay rose over the last bursts, according to a fitted line; 0 for
   * few bursts.
   */
  riseMs(): number;
  isRising(): boolean;
  /** Forgets past bursts, because packets sent before a rate decrease say nothing about the new rate. */
  restart(): void;
}

/**
 * Returns the trend of one-way delays: the slope of a line fitted to the last bursts times the time it spans,
 * compared with a threshold that adapts to the path's jitter. `pictureMs` returns the time between two
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
      previous !== undefined &&
      measureStretchMs(previous) > limitMs &&
      burst.delayMs - previous.delayMs > limitMs
    );
  };
  const finishBurst = (burst: Burst) => {
    const previous = bursts.at(-1);
    const spanMs = Math.max(windowMs, pictureMs() * windowPictures);
    bursts = [...bursts.filter(({ arrivedAtMs }) => burst.arrivedAtMs - arrivedAtMs < spanMs), burst];
    rise = fitRise(bursts);
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
      // On a narrow path a picture takes long to arrive; its first packets already show how late it is.
      const isStillRising = fitRise([...bursts, current]) > thresholdMs && !isFalling(current, bursts.at(-1));
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
 * Returns how much longer the burst took to arrive than to be sent, at the pace of most of its packets; 0 for
 * few packets.
 */
function measureStretchMs({ gapsMs, sentAtMs, lastSentAtMs }: Burst): number {
  const median = gapsMs.toSorted((a, b) => a - b)[Math.floor(gapsMs.length / 2)] ?? 0;
  return gapsMs.length < minGaps ? 0 : median * gapsMs.length - (lastSentAtMs - sentAtMs);
}

/** Returns the rise of a least-squares fit of delay over arrival time. */
function fitRise(bursts: readonly Burst[]): number {
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
