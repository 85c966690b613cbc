import type { TransportFeedback } from "../rtp/transportFeedback.ts";

const windowMs = 1_000;
const recentMs = 300;
const minReports = 10;
/** Above this queueing delay or loss, the path is congested. */
const congestedQueueMs = 50;
const congestedLoss = 0.1;
/** Below both, the path has capacity to spare. */
const uncongestedQueueMs = 25;
const uncongestedLoss = 0.03;
const decreaseFactor = 0.85;
/** A still picture needs a small part of the target; a short congestion then must not lower the rate below what the next scene needs. */
const minCarriedShare = 0.5;
const minDecreaseGapMs = 300;
const uncongestedBeforeIncreaseMs = 1_000;
const increasePerSecond = 0.2;
/** A rate that was carried before is regained faster than a new one is tried. */
const regainPerSecond = 0.5;
const increaseKbpsPerSecond = 20;
/** The target stays within these of what arrives: a still picture does not test the path. */
const headroom = 1.5;
const headroomKbps = 100;
/** This share of the starting rate is regained even with a still picture, so that the next scene does not start blurred. */
const untestedShare = 0.5;
/** The smallest delay is discarded after this time, because clocks drift and routes change. */
const baseDelayMaxAgeMs = 20_000;
/** When the rate fell to this share and the delay did not change, the delay is not the stream's own queue: the path has become longer. */
const provenShare = 0.5;
const steadySpreadMs = 20;
/** Smaller changes are not applied to the encoder. */
const minAppliedChange = 0.03;
const minDurationMs = 200;
/** Sequence numbers of transport-wide feedback have 16 bits. */
const sequenceCount = 65_536;

export interface RateControllerOptions {
  startKbps: number;
  minKbps: number;
  maxKbps: number;
  /** Milliseconds, monotonic. */
  now: () => number;
  onRate: (kbps: number) => void;
}

/** Between which the bitrate is looked for, and how many pictures a second share it. */
export interface RateLimits {
  minKbps: number;
  maxKbps: number;
  fps: number;
}

export interface RateState {
  targetKbps: number;
  receivedKbps: number;
  queueMs: number;
  loss: number;
}

/** Finds the bitrate that the path to the browser carries without queueing. */
export interface RateController {
  sent(sequence: number, bytes: number): void;
  feedback(feedback: TransportFeedback): void;
  /** Keeps within other limits from now on. */
  setLimits(limits: RateLimits): void;
  state(): RateState;
}

interface Arrival { at: number; lost: boolean; bytes: number; queueMs: number; arrivedAtMs: number }

/**
 * Returns a controller of additive increase and multiplicative decrease by transport-wide feedback. Queueing delay is the one-way delay
 * above the smallest seen; it grows long before packets are lost.
 */
export function createRateController({ startKbps, now, onRate, ...limits }: RateControllerOptions): RateController {
  let { minKbps, maxKbps } = limits;
  const sent = new Array<{ at: number; bytes: number } | undefined>(sequenceCount);
  let target = startKbps;
  let applied = startKbps;
  let window: Arrival[] = [];
  let base = { delayMs: Infinity, since: 0 };
  let decreasedAt = 0;
  let increasedAt = now();
  let measured = { receivedKbps: 0, queueMs: 0, loss: 0 };
  /** The target when the present congestion began; undefined without one. */
  let congestedFromKbps: number | undefined;
  /** The rate that was carried when the last congestion began. */
  let carriedKbps = 0;

  const record = (feedback: TransportFeedback, at: number) => {
    for (const { sequence, arrivedAtMs } of feedback) {
      const packet = sent[sequence];
      if (!packet) continue;
      if (arrivedAtMs === null) {
        window.push({ at, lost: true, bytes: 0, queueMs: 0, arrivedAtMs: 0 });
        continue;
      }
      const delayMs = arrivedAtMs - packet.at;
      if (delayMs < base.delayMs || at - base.since > baseDelayMaxAgeMs) base = { delayMs, since: at };
      window.push({ at, lost: false, bytes: packet.bytes, queueMs: delayMs - base.delayMs, arrivedAtMs });
      sent[sequence] = undefined; // A repeated report must not count twice.
    }
    window = window.filter((arrival) => at - arrival.at < windowMs);
  };
  const decide = (at: number) => {
    const { receivedKbps, queueMs, loss } = measured;
    if ((queueMs > congestedQueueMs || loss > congestedLoss) && at - decreasedAt > minDecreaseGapMs) {
      const carried = Math.min(target, Math.max(receivedKbps, target * minCarriedShare));
      if (congestedFromKbps === undefined) {
        congestedFromKbps = target;
        carriedKbps = carried * decreaseFactor;
      }
      target = Math.max(minKbps, carried * (queueMs > congestedQueueMs ? decreaseFactor : 1 - loss / 2));
      decreasedAt = at;
    } else if (queueMs < uncongestedQueueMs && loss < uncongestedLoss && at - decreasedAt > uncongestedBeforeIncreaseMs) {
      congestedFromKbps = undefined;
      const seconds = (at - increasedAt) / 1_000;
      const share = target < carriedKbps ? regainPerSecond : increasePerSecond;
      const ceiling = Math.min(maxKbps, Math.max(target, receivedKbps * headroom + headroomKbps, startKbps * untestedShare));
      target = Math.max(minKbps, Math.min(ceiling, target * (1 + share * seconds) + increaseKbpsPerSecond * seconds));
    }
    increasedAt = at;
  };
  const acceptLongerPath = () => {
    if (congestedFromKbps === undefined || target > congestedFromKbps * provenShare || measured.loss > uncongestedLoss) return;
    const standingMs = standingDelay(window);
    if (standingMs < uncongestedQueueMs) return;
    base.delayMs += standingMs;
    for (const arrival of window) arrival.queueMs -= standingMs;
  };
  return {
    setLimits(changed) {
      const wasAtMaximum = target >= maxKbps;
      ({ minKbps, maxKbps } = changed);
      // What held the rate was the old maximum, not the path: the new one is tried as a new connection would be.
      const untested = wasAtMaximum ? Math.max(target, startKbps) : target;
      target = Math.max(minKbps, Math.min(maxKbps, untested));
      if (target === applied) return;
      applied = target;
      onRate(Math.floor(target));
    },
    sent(sequence, bytes) {
      sent[sequence] = { at: now(), bytes };
    },
    feedback(feedback) {
      const at = now();
      record(feedback, at);
      const measurement = measure(window, at);
      if (!measurement) return;
      measured = measurement;
      decide(at);
      acceptLongerPath();
      if (Math.abs(target - applied) / applied > minAppliedChange) {
        applied = target;
        onRate(Math.floor(target));
      }
    },
    state: () => ({ targetKbps: Math.floor(applied), ...measured }),
  };
}

/** Returns the delay that all packets of the window had, within a small spread; 0 when it changed, as that of a queue that drains or fills does. */
function standingDelay(window: Arrival[]): number {
  const delays = window.filter(({ lost }) => !lost).map(({ queueMs }) => queueMs).sort((a, b) => a - b);
  const [low = 0, high = 0] = [delays[Math.floor(delays.length * 0.1)], delays[Math.floor(delays.length * 0.9)]];
  return high - low < steadySpreadMs ? low : 0;
}

/** Returns undefined while there are too few reports. Lost packets count: on a congested path few arrive and many are lost. */
function measure(window: Arrival[], at: number): Omit<RateState, "targetKbps"> | undefined {
  if (window.length < minReports) return undefined;
  const arrived = window.filter((arrival) => !arrival.lost);
  const recent = arrived.filter((arrival) => at - arrival.at < recentMs).map((arrival) => arrival.queueMs).sort((a, b) => a - b);
  const bits = arrived.reduce((sum, arrival) => sum + arrival.bytes, 0) * 8;
  const spanMs = (arrived.at(-1)?.arrivedAtMs ?? 0) - (arrived[0]?.arrivedAtMs ?? 0);
  return {
    receivedKbps: bits / (arrived.length < minReports ? windowMs : Math.max(minDurationMs, spanMs)),
    queueMs: recent[recent.length >> 1] ?? 0,
    loss: 1 - arrived.length / window.length,
  };
}
