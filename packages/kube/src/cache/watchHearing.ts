import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * A watch that resumes after a broken one sends missed changes immediately. After this time they count as
 * received.
 */
const catchUpMs = 1000;

/** Tracks when the API server last responded, and since when a cache that follows it was complete. */
export class WatchHearing {
  readonly #clock: Clock;
  #heardAtMs: number | undefined;
  #currentAtMs: number | undefined;
  /** A watch broke, and the changes that it missed may not have arrived. */
  #isBehind = false;
  /** When the watch after a broken one was opened, until it has caught up. */
  #resumedAtMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since the last response of the API server; undefined before the first. */
  get silentForMs(): number | undefined {
    return this.#since(this.#heardAtMs);
  }

  /**
   * Milliseconds for which the cache may have missed changes, counted from the last message of a complete
   * watch; undefined before the first list.
   */
  get behindForMs(): number | undefined {
    this.#noteCaughtUp();
    return this.#since(this.#currentAtMs);
  }

  /** Records a response, which says nothing about changes. */
  noteResponse(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Records that the cache holds the content of a list. */
  noteList(): void {
    this.#isBehind = false;
    this.noteWord();
  }

  /** Records a message of the watch or its normal end: everything before it was received. */
  noteWord(): void {
    this.noteResponse();
    this.#noteCaughtUp();
    if (!this.#isBehind) this.#currentAtMs = this.#heardAtMs;
  }

  /** Records a failed list or watch. */
  noteFailure(): void {
    this.#isBehind = true;
    this.#resumedAtMs = undefined;
  }

  /** Records that a watch was opened. */
  noteOpened(): void {
    this.#resumedAtMs = this.#isBehind ? this.#clock.monotonicMs() : undefined;
  }

  #noteCaughtUp(): void {
    if (this.#resumedAtMs === undefined || this.#clock.monotonicMs() - this.#resumedAtMs < catchUpMs) return;
    this.#isBehind = false;
    this.#currentAtMs = this.#resumedAtMs;
    this.#resumedAtMs = undefined;
  }

  #since(atMs: number | undefined): number | undefined {
    return atMs === undefined ? undefined : this.#clock.monotonicMs() - atMs;
  }
}
