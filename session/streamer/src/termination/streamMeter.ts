import type { StreamMeasurement } from "#contracts/termination.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** State of the stream at one moment. */
export interface StreamReading {
  /** Whether a browser is connected. */
  isViewed: boolean;
  /** Frames and bytes sent since the start. */
  frames: number;
  videoBytes: number;
  /** Share of packets lost in the last second, from 0 to 1. */
  loss: number;
  /** Size of the picture. */
  width: number;
  height: number;
  /** Monotonic time at which the first picture was sent; undefined before. */
  firstPictureMs: number | undefined;
}

/** Measures the stream of a session from samples. Time without a connected browser does not count. */
export class StreamMeter {
  readonly #clock: Pick<Clock, "now" | "monotonicMs">;
  #last: { frames: number; videoBytes: number; atMs: number };
  #viewedMs = 0;
  #frames = 0;
  #videoBytes = 0;
  /** Sum of loss × milliseconds. */
  #lostMs = 0;
  #firstPictureAt: string | null = null;
  #size = { width: 0, height: 0 };

  constructor(clock: Pick<Clock, "now" | "monotonicMs">) {
    this.#clock = clock;
    this.#last = { frames: 0, videoBytes: 0, atMs: clock.monotonicMs() };
  }

  /** Adds what happened since the last sample. */
  sample({ isViewed, frames, videoBytes, loss, width, height, firstPictureMs }: StreamReading): void {
    const atMs = this.#clock.monotonicMs();
    const ms = atMs - this.#last.atMs;
    if (firstPictureMs !== undefined)
      this.#firstPictureAt ??= new Date(this.#clock.now().getTime() - (atMs - firstPictureMs)).toISOString();
    if (isViewed) {
      this.#viewedMs += ms;
      this.#frames += frames - this.#last.frames;
      this.#videoBytes += videoBytes - this.#last.videoBytes;
      this.#lostMs += loss * ms;
      this.#size = { width, height };
    }
    this.#last = { frames, videoBytes, atMs };
  }

  /** Returns the result of all samples; undefined if the stream was never viewed. */
  measurement(): StreamMeasurement | undefined {
    if (this.#viewedMs <= 0) return undefined;
    const seconds = this.#viewedMs / 1_000;
    return {
      firstPictureAt: this.#firstPictureAt,
      viewedSeconds: rounded(seconds, 10),
      averageFps: rounded(this.#frames / seconds, 10),
      averageKbps: rounded((this.#videoBytes * 8) / this.#viewedMs, 1),
      averageLoss: rounded(this.#lostMs / this.#viewedMs, 10_000),
      ...this.#size,
    };
  }
}

function rounded(value: number, precision: number): number {
  return Math.round(value * precision) / precision;
}
