import type { Clock } from "#runtime/scheduling/clock.ts";
import type { TransportFeedback } from "../rtp/rtcp.ts";
import { createArrivals, type Arrival } from "./arrivals.ts";
import { createDelayTrend } from "./delayTrend.ts";

/** Above this queueing delay or loss, the path is congested. */
const congestedQueueMs = 50;
const congestedLoss = 0.1;
/** Below both, the path has capacity to spare. */
const uncongestedQueueMs = 25;
const uncongestedLoss = 0.05;
/** A queue shorter than this has drained. */
const drainedQueueMs = 15;
/** A queue that grows counts from this length on. */
const growingQueueMs = 15;
/** What is sent of the path's capacity once its queue has drained, and at most while it does. */
const carriedShare = 0.9;
const drainingShare = 0.85;
const minDrainingShare = 0.3;
/**
 * A queue is drained within about this time; while it becomes shorter by this much a millisecond the rate is
 * low enough.
 */
const drainMs = 1_000;
const minDrainedShare = 0.1;
/** A queue takes so many times its own length to drain at the lowest share. */
const falseDrainShare = 1 / (1 - minDrainingShare);
/** A report tells of the path of so long ago. */
const reportLagMs = 80;
const maxGrowthMs = 300;
/** The path's capacity is what arrives while its queue fills, over this time. */
const capacitySpanMs = 250;
const receivedSpanMs = 500;
/**
 * Who sends less than this share of the target does not test the path: a short congestion then says nothing
 * about its capacity.
 */
const testedShare = 0.6;
const limitedShare = 0.93;
/**
 * Within one congestion each look lowers the capacity found by so much at most: less may arrive for a moment
 * than the path carries.
 */
const minCapacityShare = 0.75;
/**
 * What had waited, and then comes so much faster than the target, was held up for a moment; a queue stays
 * longer.
 */
const momentShare = 1.2;
const momentMs = 500;
const minCarriedShare = 0.5;
/**
 * Who sends so many times what the path carries fills its queue before the next report: nothing more is sent
 * until a part of it has drained.
 */
const overrunShare = 2.5;
/** A longer queue, or a queue that still grows, lowers the rate again after these times. */
const minDecreaseGapMs = 300;
const minRisingDecreaseGapMs = 100;
const uncongestedBeforeIncreaseMs = 400;
/**
 * Up to about the capacity last seen the rate grows slowly; beyond it the path has become wider, and the rate
 * doubles in a second.
 */
const increasePerSecond = 0.12;
/**
 * Of a path that is about to be too narrow the next picture would wait a little; one on which none did for
 * this long is likely to be wider.
 */
const emptyQueueMs = 5;
const emptyForMs = 700;
const increaseWhenEmptyPerSecond = 0.3;
const widenPerSecond = 1;
const knownCapacityShare = 1.1;
const outgrownCapacityShare = 1.5;
const increaseKbpsPerSecond = 20;
/** The target stays within these of what arrives: a still picture does not test the path. */
const headroom = 1.5;
const headroomKbps = 100;
/**
 * This share of the starting rate is regained even with a still picture, so that the next scene does not
 * start blurred.
 */
const untestedShare = 0.5;
/**
 * When the rate fell to this share and the delay did not change, the delay is not the stream's own queue: the
 * path has become longer.
 */
const provenShare = 0.5;
/** A delay that stands between the two for so long is the path's own: a queue would have grown or drained. */
const steadyForMs = 2_000;
/** A browser reports several times a second; when it stops, nothing arrives there, or nothing comes back. */
const silentMs = 600;
const silentShare = 0.5;
const defaultFps = 60;
/** Smaller changes are not applied to the encoder. */
const minAppliedChange = 0.03;

/**
 * Between which the bitrate is looked for, the maximum before the minimum, and how many pictures a second
 * share it.
 */
interface RateLimits {
  minKbps: number;
  maxKbps: number;
  fps: number;
}

interface RateControllerOptions extends Omit<RateLimits, "fps"> {
  /** Of a connection that nothing is known of yet; within the limits, whichever hold. */
  startKbps: number;
  /** 60 unless given. */
  fps?: number;
  clock: Pick<Clock, "monotonicMs">;
  onRate: (kbps: number) => void;
  /**
   * Called when the path's queue overflows: nothing is to be sent for so many milliseconds, and a picture
   * that needs none of those before it then.
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
  /** Keeps within other limits from now on; a rate outside them changes at once. */
  setLimits(limits: RateLimits): void;
  state(): RateState;
}

/**
 * Returns a controller by transport-wide feedback. A delay that grows, or stands above the smallest seen,
 * lowers the rate below what arrives, by more the longer the queue is; once it has drained, the rate takes up
 * what the path carried, and grows.
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
  /** When the first packet was sent that no report has followed. */
  let unreportedSince: number | undefined;
  /** When the delay last was short, or changed. */
  let movedAt = clock.monotonicMs();
  /**
   * What the path carried when it was last congested; undefined until then, and when more has been carried
   * since.
   */
  let capacityKbps: number | undefined;
  /** How long the queue was taken to be when the rate was last lowered. */
  let queuedMs = 0;
  let seenQueueMs = 0;
  /** Since when the queue last seen can have drained, at the earliest. */
  let drainingSince = -Infinity;
  let isQueueCaused = false;
  let [queuedSince, emptySince] = [clock.monotonicMs(), clock.monotonicMs()];
  /** The target when the present congestion began; undefined without one. */
  let congestedFromKbps: number | undefined;

  const isGrowing = () => trend.isRising() && measured.queueMs > growingQueueMs;
  /**
   * Returns what the path carries: the target at least while all that is sent arrives, and a share of it at
   * least while too little is sent to test the path.
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
   * Returns whether the browser or this machine was busy for a moment, and not the path: what had waited came
   * at once, or has hardly begun to come.
   */
  const isMoment = (at: number) =>
    (arrivals.drainKbps() ?? Infinity) > target * momentShare &&
    at - queuedSince < momentMs &&
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
    // A report tells of the queue that a packet met `queueMs` ago. That queue may have drained since, under
    // the rate that was lowered before.
    drainingSince = congestedFromKbps === undefined ? at : Math.max(drainingSince, at - queueMs);
    congestedFromKbps ??= target;
    // What was sent since the last report comes on top of the queue that it tells of.
    const sentShare = arrivals.sentKbps(capacitySpanMs) / capacityKbps;
    const growthMs = Math.max(0, sentShare - 1) * reportLagMs;
    queuedMs = queueMs + Math.min(growthMs, maxGrowthMs);
    const share = isQueued ? Math.max(minDrainingShare, drainingShare - queuedMs / drainMs) : 1 - loss / 2;
    target = within(Math.min(target, (isQueued ? capacityKbps : target) * share));
    isQueueCaused = isQueued;
    seenQueueMs = queueMs;
    decreasedAt = at;
    trend.restart(); // What was sent at the old rate says nothing of the new one.
    if (isQueued && sentShare > overrunShare) hold.begin(at);
  };
  const recover = (at: number) => {
    if (congestedFromKbps === undefined) return;
    if (at - drainingSince < seenQueueMs * falseDrainShare) {
      // No rate drains a queue that fast: something else was busy.
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
      if (!isMoment(at)) decrease(at);
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
  const slowDownInSilence = (at: number) => {
    unreportedSince ??= at;
    if (at - unreportedSince < silentMs) return;
    unreportedSince = at;
    target = within(target * silentShare);
    apply();
  };

  return {
    sent(sequence, bytes) {
      arrivals.sent(sequence, bytes);
      if (measured.receivedKbps > 0) slowDownInSilence(clock.monotonicMs()); // Some browsers never report.
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
      // The old maximum held the rate, not the path. So the new maximum is tried as by a new connection.
      target = within(wasAtMaximum ? Math.max(target, startKbps) : target);
      apply(true);
    },
    state: () => ({ targetKbps: Math.floor(applied), ...measured }),
  };
}

/** A part of what home routers queue. A key frame can be asked for again by its end. */
const holdMs = 250;

/** A time in which nothing is sent, so that a queue that overflows becomes shorter. */
interface Hold {
  begin(at: number): void;
  /**
   * Whether the report of these packets tells only of what was sent before the hold's end, which says nothing
   * of the path any more.
   */
  isStale(reported: readonly Arrival[]): boolean;
}

/**
 * Calls `onBegin` with how many milliseconds nothing is to be sent, and `onReported` when it is reported that
 * something was sent again.
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
