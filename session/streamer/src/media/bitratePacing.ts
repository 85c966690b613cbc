import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/** How long a higher bitrate waits after the last one: one that is higher by this share for less long. */
const largeRise = 1.2;
const afterRiseMs = { large: 2_000, small: 10_000 };

export interface BitratePacingOptions {
  /** Sets the encoder's bitrate. */
  set: (kbps: number) => void;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/** The bitrates of an encoder that begins again at each of them, with a key frame. */
export interface BitratePacing {
  /** The encoder was set to this bitrate, with a key frame that was to come anyway. */
  begin(kbps: number): void;
  /**
   * A lower bitrate is set at once, a higher one when its time has come, unless another is wanted by then.
   */
  want(kbps: number): void;
  /** Sets nothing any more that waits. */
  stop(): void;
}

/**
 * Returns a pacing with few key frames. The rate grows in many small steps, of each of which a key frame
 * would cost more bits than the step brings; what the path does not carry cannot wait.
 */
export function createBitratePacing({ set, clock }: BitratePacingOptions): BitratePacing {
  let heldKbps = 0;
  let raisedAt = -Infinity;
  let rise: Timer | undefined;

  const stop = () => {
    rise?.cancel();
    rise = undefined;
  };
  const hold = (kbps: number) => {
    heldKbps = kbps;
    set(kbps);
  };
  const raise = (kbps: number) => {
    rise = undefined;
    raisedAt = clock.monotonicMs();
    hold(kbps);
  };
  return {
    begin(kbps) {
      stop();
      heldKbps = kbps;
      raisedAt = clock.monotonicMs();
    },
    want(kbps) {
      stop();
      if (kbps < heldKbps) hold(kbps);
      if (kbps <= heldKbps) return;
      const waitMs =
        raisedAt + afterRiseMs[kbps >= heldKbps * largeRise ? "large" : "small"] - clock.monotonicMs();
      if (waitMs > 0) rise = clock.setTimer(waitMs, () => raise(kbps));
      else raise(kbps);
    },
    stop,
  };
}
