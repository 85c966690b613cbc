import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import {
  qualityWithin,
  type QualityBounds,
  type QualityWish,
  type StreamQuality,
} from "#contracts/streamQuality.ts";

/** Between two changes: a new encoder costs a key frame and half a second of a processor. */
const minGapMs = 1_000;

export interface QualityControlOptions {
  bounds: QualityBounds;
  /** What holds at the start. */
  initial: StreamQuality;
  /** Makes it hold for the picture; resolves to false when it cannot. */
  apply: (quality: StreamQuality) => Promise<boolean>;
  /** Called after each wish, with what holds then. */
  onSettled: (quality: StreamQuality) => void;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/**
 * The quality of a session's picture, as the player changes it: one change a second, and of the wishes in
 * between the last one.
 */
export interface QualityControl {
  current(): StreamQuality;
  ask(wish: QualityWish): void;
  close(): void;
}

export function createQualityControl({
  bounds,
  initial,
  apply,
  onSettled,
  clock,
}: QualityControlOptions): QualityControl {
  let current = initial;
  let asked: QualityWish | undefined;
  let isChanging = false;
  let changedAt = -Infinity;
  let timer: Timer | undefined;

  const change = async (wish: QualityWish): Promise<void> => {
    const wanted = qualityWithin(wish, bounds);
    isChanging = true;
    changedAt = clock.monotonicMs();
    try {
      if (await apply(wanted)) current = wanted;
    } finally {
      isChanging = false;
    }
    onSettled(current);
    next();
  };
  const next = () => {
    if (asked === undefined || isChanging || timer !== undefined) return;
    const waitMs = changedAt + minGapMs - clock.monotonicMs();
    if (waitMs > 0) {
      timer = clock.setTimer(waitMs, () => {
        timer = undefined;
        next();
      });
      return;
    }
    const wish = asked;
    asked = undefined;
    void change(wish);
  };
  return {
    current: () => current,
    ask(wish) {
      asked = wish;
      next();
    },
    close() {
      asked = undefined;
      timer?.cancel();
    },
  };
}
