import type { TransportFeedback } from "../rtp/transportFeedback.ts";

const windowMs = 1_000;
const recentMs = 300;
const minReports = 10;
/** Above this much queueing, or loss, something on the way is full. */
const fullQueueMs = 50;
const fullLoss = 0.1;
/** Below both, there is room. */
const freeQueueMs = 25;
const freeLoss = 0.03;
const decreaseFactor = 0.85;
/** A still picture needs a small part of the target; a hiccup then must not take what the next scene needs. */
const mostOfTarget = 0.5;
const minDecreaseGapMs = 300;
const calmBeforeIncreaseMs = 1_000;
const increasePerSecond = 0.2;
/** What was carried a moment ago is regained faster than new ground is tried. */
const regainPerSecond = 0.5;
const increaseKbpsPerSecond = 20;
/** Never far above what arrives: an idle picture says nothing about the way. */
const headroom = 1.5;
const headroomKbps = 100;
/** This share of the starting rate is regained even under a still picture, so that its next scene does not start blurred. */
const untestedShare = 0.5;
/** The smallest delay is forgotten after this long, since clocks drift and ways change. */
const baseDelayLifeMs = 20_000;
/** When the rate fell to this share and the delay did not move, the delay is not our queue: the way has become longer. */
const provenShare = 0.5;
const steadySpreadMs = 20;
/** Changes smaller than this are not worth disturbing the encoder. */
const worthApplying = 0.03;
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

export interface RateState {
  targetKbps: number;
  receivedKbps: number;
  queueMs: number;
  loss: number;
}

/** Finds the bitrate that the way to the browser carries without queueing. */
export interface RateController {
  sent(sequence: number, bytes: number): void;
  feedback(feedback: TransportFeedback): void;
  state(): RateState;
}

interface Arrival { at: number; lost: boolean; bytes: number; queueMs: number; arrivedAtMs: number }

/**
 * Additive increase, multiplicative decrease over transport-wide feedback. Queueing delay is the one-way delay above the
 * smallest seen; it grows long before packets are lost.
 */
export function createRateController({ startKbps, minKbps, maxKbps, now, onRate }: RateControllerOptions): RateController {
  const sent = new Array<{ at: number; bytes: number } | undefined>(sequenceCount);
  let target = startKbps;
  let applied = startKbps;
  let window: Arrival[] = [];
  let base = { delayMs: Infinity, since: 0 };
  let decreasedAt = 0;
  let increasedAt = now();
  let measured = { receivedKbps: 0, queueMs: 0, loss: 0 };
  /** The target when the present trouble began; undefined in calm. */
  let troubleFromKbps: number | undefined;
  /** What was carried when trouble began last. */
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
      if (delayMs < base.delayMs || at - base.since > baseDelayLifeMs) base = { delayMs, since: at };
      window.push({ at, lost: false, bytes: packet.bytes, queueMs: delayMs - base.delayMs, arrivedAtMs });
      sent[sequence] = undefined; // a repeated report must not count twice
    }
    window = window.filter((arrival) => at - arrival.at < windowMs);
  };
  const decide = (at: number) => {
    const { receivedKbps, queueMs, loss } = measured;
    if ((queueMs > fullQueueMs || loss > fullLoss) && at - decreasedAt > minDecreaseGapMs) {
      const carried = Math.min(target, Math.max(receivedKbps, target * mostOfTarget));
      if (troubleFromKbps === undefined) {
        troubleFromKbps = target;
        carriedKbps = carried * decreaseFactor;
      }
      target = Math.max(minKbps, carried * (queueMs > fullQueueMs ? decreaseFactor : 1 - loss / 2));
      decreasedAt = at;
    } else if (queueMs < freeQueueMs && loss < freeLoss && at - decreasedAt > calmBeforeIncreaseMs) {
      troubleFromKbps = undefined;
      const seconds = (at - increasedAt) / 1_000;
      const share = target < carriedKbps ? regainPerSecond : increasePerSecond;
      const ceiling = Math.min(maxKbps, Math.max(target, receivedKbps * headroom + headroomKbps, startKbps * untestedShare));
      target = Math.max(minKbps, Math.min(ceiling, target * (1 + share * seconds) + increaseKbpsPerSecond * seconds));
    }
    increasedAt = at;
  };
  const acceptLongerWay = () => {
    if (troubleFromKbps === undefined || target > troubleFromKbps * provenShare || measured.loss > freeLoss) return;
    const standingMs = standingDelay(window);
    if (standingMs < freeQueueMs) return;
    base.delayMs += standingMs;
    for (const arrival of window) arrival.queueMs -= standingMs;
  };
  return {
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
      acceptLongerWay();
      if (Math.abs(target - applied) / applied > worthApplying) {
        applied = target;
        onRate(Math.floor(target));
      }
    },
    state: () => ({ targetKbps: Math.floor(applied), ...measured }),
  };
}

/** The delay that all packets of the window had, within a little; 0 when it moved: a queue that drains or fills does. */
function standingDelay(window: Arrival[]): number {
  const delays = window.filter(({ lost }) => !lost).map(({ queueMs }) => queueMs).sort((a, b) => a - b);
  const [low = 0, high = 0] = [delays[Math.floor(delays.length * 0.1)], delays[Math.floor(delays.length * 0.9)]];
  return high - low < steadySpreadMs ? low : 0;
}

/** Undefined while there is too little to judge by. On a choked way little arrives and much is lost: that is enough. */
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
