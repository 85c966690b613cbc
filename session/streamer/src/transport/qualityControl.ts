import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import {
  qualityWithin,
  type QualityBounds,
  type QualityRequest,
  type StreamQuality,
} from "#contracts/streamQuality.ts";

/** Minimum time between changes: a new encoder costs a key frame and half a second of processor time. */
const minGapMs = 1_000;

export interface QualityControlOptions {
  bounds: QualityBounds;
  /** Quality at the start. */
  initial: StreamQuality;
  /** Applies the quality to the picture. Resolves to false when that fails. */
  apply: (quality: StreamQuality) => Promise<boolean>;
  /** Called after each request with the quality that is now in effect. */
  onSettled: (quality: StreamQuality) => void;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/**
 * Picture quality as requested by the player. At most one change a second is applied; of the requests in
 * between, only the last one counts.
 */
export interface QualityControl {
  current(): StreamQuality;
  request(wish: QualityRequest): void;
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
  let requested: QualityRequest | undefined;
  let isChanging = false;
  let changedAt = -Infinity;
  let timer: Timer | undefined;

  const change = async (wish: QualityRequest): Promise<void> => {
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
    if (requested === undefined || isChanging || timer !== undefined) return;
    const waitMs = changedAt + minGapMs - clock.monotonicMs();
    if (waitMs > 0) {
      timer = clock.setTimer(waitMs, () => {
        timer = undefined;
        next();
      });
      return;
    }
    const wish = requested;
    requested = undefined;
    void change(wish);
  };
  return {
    current: () => current,
    request(wish) {
      requested = wish;
      next();
    },
    close() {
      requested = undefined;
      timer?.cancel();
    },
  };
}
