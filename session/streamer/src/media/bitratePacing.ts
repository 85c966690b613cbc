import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/** How long a higher bitrate waits after the last change. An increase by at least `largeRise` waits less. */
const largeRise = 1.2;
const afterRiseMs = { large: 2_000, small: 10_000 };

export interface BitratePacingOptions {
  /** Sets the encoder's bitrate. */
  set: (kbps: number) => void;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/** Limits bitrate changes of an encoder that restarts with a key frame on each of them. */
export interface BitratePacing {
  /** Records a bitrate that was set together with a key frame that was due anyway. */
  begin(kbps: number): void;
  /** Sets a lower bitrate immediately, and a higher one once it is due, unless another replaces it. */
  request(kbps: number): void;
  /** Cancels a pending increase. */
  stop(): void;
}

/**
 * Returns a pacing that causes few key frames. The rate grows in many small steps, and a key frame for each
 * would cost more bits than the step gains. A decrease cannot wait: the path no longer carries the old rate.
 */
export function createBitratePacing({ set, clock }: BitratePacingOptions): BitratePacing {
  let heldKbps = 0;
  let raisedAt = -Infinity;
  let pendingRise: Timer | undefined;

  const stop = () => {
    pendingRise?.cancel();
    pendingRise = undefined;
  };
  const hold = (kbps: number) => {
    heldKbps = kbps;
    set(kbps);
  };
  const raise = (kbps: number) => {
    pendingRise = undefined;
    raisedAt = clock.monotonicMs();
    hold(kbps);
  };
  return {
    begin(kbps) {
      stop();
      heldKbps = kbps;
      raisedAt = clock.monotonicMs();
    },
    request(kbps) {
      stop();
      if (kbps < heldKbps) hold(kbps);
      if (kbps <= heldKbps) return;
      const waitMs =
        raisedAt + afterRiseMs[kbps >= heldKbps * largeRise ? "large" : "small"] - clock.monotonicMs();
      if (waitMs > 0) pendingRise = clock.setTimer(waitMs, () => raise(kbps));
      else raise(kbps);
    },
    stop,
  };
}
