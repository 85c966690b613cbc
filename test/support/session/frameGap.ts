/** The time between two frames of a picture. */
export interface FrameGap {
  milliseconds: number;
  /** When it ended, or was looked at, as milliseconds since 1970. */
  endedAt: number;
}

/** The longest time that a picture stood still, of one that still lasts too. */
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

  /** The longest since the last call. */
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
