import type { Clock } from "#runtime/scheduling/clock.ts";
import type { TransportFeedback } from "../rtp/rtcp.ts";
import { createArrivals, type Arrival } from "./arrivals.ts";
import { createDelayTrend } from "./delayTrend.ts";

/** The path is congested above this queueing delay or loss. */
const congestedQueueMs = 50;
const congestedLoss = 0.1;
/** The path has spare capacity below both. */
const uncongestedQueueMs = 25;
const uncongestedLoss = 0.05;
/** A queue shorter than this has drained. */
const drainedQueueMs = 15;
/** A growing queue counts from this length. */
const growingQueueMs = 15;
/** Share of the capacity that is sent once the queue has drained, and at most while it drains. */
const carriedShare = 0.9;
const drainingShare = 0.85;
const minDrainingShare = 0.3;
/**
 * Target time for draining a queue. The rate is low enough while the queue shrinks by at least this much per
 * millisecond.
 */
const drainMs = 1_000;
const minDrainedShare = 0.1;
/** Draining takes this many times the queue's length at the lowest share. */
const falseDrainShare = 1 / (1 - minDrainingShare);
/** Age of the information in a report. */
const reportLagMs = 80;
const maxGrowthMs = 300;
/** Capacity is the arrival rate while the queue fills, over this time. */
const capacitySpanMs = 250;
const receivedSpanMs = 500;
/**
 * Sending less than this share of the target does not test the path. A short congestion then says nothing
 * about its capacity.
 */
const testedShare = 0.6;
const limitedShare = 0.93;
/**
 * Within one congestion, each decision lowers the capacity at most to this share, because less than the
 * capacity may arrive for a moment.
 */
const minCapacityShare = 0.75;
/**
 * Queued packets that then arrive this much faster than the target were held up only for a moment. A real
 * queue lasts longer.
 */
const briefDelayShare = 1.2;
const briefDelayMs = 500;
const minCarriedShare = 0.5;
/**
 * Sending this many times the capacity fills the queue before the next report. Sending then pauses until part
 * of the queue has drained.
 */
const overrunShare = 2.5;
/** Minimum time before a long or still growing queue lowers the rate again. */
const minDecreaseGapMs = 300;
const minRisingDecreaseGapMs = 100;
const uncongestedBeforeIncreaseMs = 400;
/**
 * Up to about the last known capacity the rate grows slowly. Beyond it the path has become wider, and the
 * rate doubles each second.
 */
const increasePerSecond = 0.12;
/**
 * On a path that is about to become too narrow, pictures start to queue a little. A path without any queue
 * for this long probably has more capacity.
 */
const emptyQueueMs = 5;
const emptyForMs = 700;
const increaseWhenEmptyPerSecond = 0.3;
const widenPerSecond = 1;
const knownCapacityShare = 1.1;
const outgrownCapacityShare = 1.5;
const increaseKbpsPerSecond = 20;
/**
 * The target stays within these limits of the arrival rate, because a still picture does not test the path.
 */
const headroom = 1.5;
const headroomKbps = 100;
/**
 * This share of the initial rate is regained even with a still picture, so that the next scene does not start
 * blurred.
 */
const untestedShare = 0.5;
/**
 * If the rate fell to this share without changing the delay, the delay is not a queue of this stream: the
 * path has become longer.
 */
const provenShare = 0.5;
/**
 * A delay that stays between the two thresholds for this long belongs to the path: a queue would have grown
 * or drained.
 */
const steadyForMs = 2_000;
/**
 * A browser reports several times a second. When reports stop, nothing arrives there or nothing comes back.
 */
const silentMs = 600;
const silentShare = 0.5;
const defaultFps = 60;
/** Smaller relative changes are not applied to the encoder. */
const minAppliedChange = 0.03;

/**
 * Limits of the bitrate (the maximum wins over the minimum) and the number of pictures per second that share
 * it.
 */
interface RateLimits {
  minKbps: number;
  maxKbps: number;
  fps: number;
}

interface RateControllerOptions extends Omit<RateLimits, "fps"> {
  /** Initial rate of a connection, within the limits. */
  startKbps: number;
  /** Defaults to 60. */
  fps?: number;
  clock: Pick<Clock, "monotonicMs">;
  onRate: (kbps: number) => void;
  /**
   * Called when the path's queue overflows. Send nothing for `ms`, then a picture that does not depend on
   * earlier ones.
   */
  onOverrun: (ms: number) => void;
}

interface RateState {
  targetKbps: number;
  receivedKbps: number;
  queueMs: number;
  loss: number;
}

/** Finds the bitrate that the path to the browser carries without queueing. */
export interface RateController {
  sent(sequence: number, bytes: number): void;
  feedback(feedback: TransportFeedback): void;
  /** Changes the limits. A rate outside them is corrected immediately. */
  setLimits(limits: RateLimits): void;
  state(): RateState;
}

/**
 * Returns a controller based on transport-wide feedback. A delay that grows, or stays above the smallest
 * seen, lowers the rate below the arrival rate, and further the longer the queue is. Once the queue has
 * drained, the rate returns to what the path carried and grows.
 */
export function createRateController({
  startKbps,
  minKbps,
  maxKbps,
  fps = defaultFps,
  clock,
  onRate,
  onOverrun,
}: RateControllerOptions): RateController {
  let limits: RateLimits = { minKbps, maxKbps, fps };
  const within = (kbps: number) => Math.min(limits.maxKbps, Math.max(limits.minKbps, kbps));
  const pictureMs = () => 1_000 / limits.fps;
  const arrivals = createArrivals(clock, pictureMs);
  const trend = createDelayTrend(pictureMs);
  const hold = createHold(onOverrun, () => arrivals.forgetLosses());
  let target = within(startKbps);
  let applied = target;
  let measured = { receivedKbps: 0, queueMs: 0, loss: 0 };
  let decreasedAt = -Infinity;
  let changedAt = clock.monotonicMs();
  /** When the first packet without a later report was sent. */
  let unreportedSince: number | undefined;
  /** When the delay was last short or changed. */
  let movedAt = clock.monotonicMs();
  /**
   * What the path carried when it was last congested; undefined before that, and after more has been carried.
   */
  let capacityKbps: number | undefined;
  /** Estimated queue length when the rate was last lowered. */
  let queuedMs = 0;
  let seenQueueMs = 0;
  /** Earliest time from which the last seen queue can have drained. */
  let drainingSince = -Infinity;
  let isQueueCaused = false;
  let [queuedSince, emptySince] = [clock.monotonicMs(), clock.monotonicMs()];
  /** Target at the start of the current congestion; undefined without one. */
  let congestedFromKbps: number | undefined;

  const isGrowing = () => trend.isRising() && measured.queueMs > growingQueueMs;
  /**
   * Returns the path's capacity: at least the target while everything sent arrives, and at least a share of
   * the target while too little is sent to test the path.
   */
  const findCapacity = (): number => {
    const sending = arrivals.sentKbps(capacitySpanMs);
    const arriving = arrivals.drainKbps() ?? arrivals.receivedKbps(capacitySpanMs);
    const isLimited = arriving < sending * limitedShare;
    const least = !isLimited ? target : sending > target * testedShare ? 0 : target * minCarriedShare;
    const former = congestedFromKbps === undefined ? 0 : (capacityKbps ?? 0) * minCapacityShare;
    return Math.min(congestedFromKbps ?? target, Math.max(arriving, least, former));
  };
  /**
   * Returns whether the browser or this machine was briefly busy, not the path: queued packets arrived all at
   * once, or have hardly started to arrive.
   */
  const isBriefDelay = (at: number) =>
    (arrivals.drainKbps() ?? Infinity) > target * briefDelayShare &&
    at - queuedSince < briefDelayMs &&
    measured.loss < uncongestedLoss;
  const apply = (isExact = false) => {
    if (isExact ? target === applied : Math.abs(target - applied) / applied <= minAppliedChange) return;
    applied = target;
    onRate(Math.floor(target));
  };
  const decrease = (at: number) => {
    const { queueMs, loss } = measured;
    const isQueued = isGrowing() || queueMs > congestedQueueMs;
    capacityKbps = findCapacity();
    // A report describes the queue that a packet met `queueMs` ago. That queue may have drained since, at the
    // rate that was lowered before.
    drainingSince = congestedFromKbps === undefined ? at : Math.max(drainingSince, at - queueMs);
    congestedFromKbps ??= target;
    // Packets sent since the last report add to the queue it describes.
    const sentShare = arrivals.sentKbps(capacitySpanMs) / capacityKbps;
    const growthMs = Math.max(0, sentShare - 1) * reportLagMs;
    queuedMs = queueMs + Math.min(growthMs, maxGrowthMs);
    const share = isQueued ? Math.max(minDrainingShare, drainingShare - queuedMs / drainMs) : 1 - loss / 2;
    target = within(Math.min(target, (isQueued ? capacityKbps : target) * share));
    isQueueCaused = isQueued;
    seenQueueMs = queueMs;
    decreasedAt = at;
    trend.restart(); // Packets sent at the old rate say nothing about the new one.
    if (isQueued && sentShare > overrunShare) hold.begin(at);
  };
  const recover = (at: number) => {
    if (congestedFromKbps === undefined) return;
    if (at - drainingSince < seenQueueMs * falseDrainShare) {
      // No rate drains a queue that fast, so the path was not the cause.
      target = within(Math.max(target, congestedFromKbps));
      capacityKbps = undefined;
    }
    congestedFromKbps = undefined;
    if (isQueueCaused) arrivals.forgetLosses();
    if (capacityKbps !== undefined) target = within(Math.max(target, capacityKbps * carriedShare));
  };
  const increase = (at: number) => {
    const seconds = (at - changedAt) / 1_000;
    if (capacityKbps !== undefined && target > capacityKbps * outgrownCapacityShare) capacityKbps = undefined;
    const isKnown = capacityKbps !== undefined && target < capacityKbps * knownCapacityShare;
    const knownShare = at - emptySince > emptyForMs ? increaseWhenEmptyPerSecond : increasePerSecond;
    const share = isKnown ? knownShare : widenPerSecond;
    const ceiling = Math.max(
      target,
      measured.receivedKbps * headroom + headroomKbps,
      within(startKbps) * untestedShare,
    );
    target = within(Math.min(ceiling, target * (1 + share * seconds) + increaseKbpsPerSecond * seconds));
  };
  const decide = (at: number) => {
    const { queueMs, loss } = measured;
    const sinceDecrease = at - decreasedAt;
    const isDraining = queueMs > congestedQueueMs && queueMs < queuedMs - sinceDecrease * minDrainedShare;
    const isLong =
      (queueMs > congestedQueueMs || loss > congestedLoss) && sinceDecrease > minDecreaseGapMs && !isDraining;
    if (queueMs < uncongestedQueueMs) queuedSince = at;
    if (queueMs > emptyQueueMs) emptySince = at;
    if ((isGrowing() && sinceDecrease > minRisingDecreaseGapMs) || isLong) {
      if (!isBriefDelay(at)) decrease(at);
    } else if ((loss < uncongestedLoss || isQueueCaused) && queueMs < drainedQueueMs) recover(at);
    if (
      queueMs < uncongestedQueueMs &&
      loss < uncongestedLoss &&
      at - decreasedAt > uncongestedBeforeIncreaseMs
    )
      increase(at);
    changedAt = at;
  };
  const acceptLongerPath = (at: number) => {
    const steadyMs = arrivals.standingDelayMs();
    if (steadyMs < drainedQueueMs || measured.loss > uncongestedLoss) movedAt = at;
    const isProven =
      congestedFromKbps !== undefined &&
      target <= congestedFromKbps * provenShare &&
      steadyMs >= uncongestedQueueMs;
    if (!isProven && at - movedAt < steadyForMs) return;
    if (measured.loss <= uncongestedLoss) arrivals.acceptDelay(steadyMs);
    movedAt = at;
  };
  const decreaseWithoutReports = (at: number) => {
    unreportedSince ??= at;
    if (at - unreportedSince < silentMs) return;
    unreportedSince = at;
    target = within(target * silentShare);
    apply();
  };

  return {
    sent(sequence, bytes) {
      arrivals.sent(sequence, bytes);
      // Some browsers never report.
      if (measured.receivedKbps > 0) decreaseWithoutReports(clock.monotonicMs());
    },
    feedback(feedback) {
      const at = clock.monotonicMs();
      unreportedSince = undefined;
      const reported = arrivals.feedback(feedback);
      if (hold.isStale(reported)) return;
      for (const arrival of reported) trend.add(arrival);
      const measurement = arrivals.measure();
      if (!measurement) return;
      measured = { ...measurement, receivedKbps: arrivals.receivedKbps(receivedSpanMs) };
      decide(at);
      acceptLongerPath(at);
      apply();
    },
    setLimits(next) {
      const wasAtMaximum = target >= limits.maxKbps;
      limits = next;
      // The old maximum limited the rate, not the path. Try the new maximum as a new connection would.
      target = within(wasAtMaximum ? Math.max(target, startKbps) : target);
      apply(true);
    },
    state: () => ({ targetKbps: Math.floor(applied), ...measured }),
  };
}

/** Part of a home router's queue. After it, a key frame can be requested again. */
const holdMs = 250;

/** A pause in sending that lets an overflowing queue shrink. */
interface Hold {
  begin(at: number): void;
  /**
   * Returns whether a report describes only packets from before the end of the pause, which say nothing about
   * the path any more.
   */
  isStale(reported: readonly Arrival[]): boolean;
}

/**
 * Calls `onBegin` with the length of the pause in milliseconds, and `onReported` once packets sent after it
 * are reported.
 */
function createHold(onBegin: (ms: number) => void, onReported: () => void): Hold {
  let endsAt: number | undefined;
  return {
    begin(at) {
      endsAt = at + holdMs;
      onBegin(holdMs);
    },
    isStale(reported) {
      const end = endsAt;
      if (end === undefined) return false;
      if (!reported.some(({ sentAtMs }) => sentAtMs >= end)) return true;
      endsAt = undefined;
      onReported();
      return false;
    },
  };
}
