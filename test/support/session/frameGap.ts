/** The time between two frames of a picture. */
export interface FrameGap {
  milliseconds: number;
  /** When it ended, or was last measured, in milliseconds since 1970. */
  endedAt: number;
}

/** Tracks the longest gap between frames, including one that still lasts. */
export class LongestFrameGap {
  #lastFrameAt: number | undefined;
  #longest: FrameGap = { milliseconds: 0, endedAt: 0 };

  get isBeforeFirstFrame(): boolean {
    return this.#lastFrameAt === undefined;
  }

  noteFrame(): void {
    this.#note();
    this.#lastFrameAt = performance.now();
  }

  /** Returns the longest gap since the last call. */
  take(): FrameGap {
    this.#note();
    const longest = this.#longest;
    this.#longest = { milliseconds: 0, endedAt: 0 };
    return longest;
  }

  #note(): void {
    if (this.#lastFrameAt === undefined) return;
    const milliseconds = performance.now() - this.#lastFrameAt;
    if (milliseconds > this.#longest.milliseconds) this.#longest = { milliseconds, endedAt: Date.now() };
  }
}
