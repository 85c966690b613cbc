import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * What a broken watch has missed comes at once when another one goes on where it was; after this it counts as
 * told.
 */
const catchUpMs = 1000;

/**
 * Knows when the API server was last heard, and as of when a cache that follows it held all that there was.
 */
export class WatchHearing {
  readonly #clock: Clock;
  #heardAtMs: number | undefined;
  #currentAtMs: number | undefined;
  /** A watch broke since, and what it has missed may not have come. */
  #isBehind = false;
  /** When the watch was opened that goes on after a broken one, until it has caught up. */
  #resumedAtMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Time since the API server was last heard; undefined before it was. */
  get silentForMs(): number | undefined {
    return this.#since(this.#heardAtMs);
  }

  /**
   * Time since which the cache may lack what has happened: since the last word of a watch that had nothing to
   * catch up with; undefined before the first list.
   */
  get behindForMs(): number | undefined {
    this.#noteCaughtUp();
    return this.#since(this.#currentAtMs);
  }

  /** Notes that the server has answered, which says nothing of what has happened. */
  noteResponse(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Notes that the cache holds what a list has returned. */
  noteList(): void {
    this.#isBehind = false;
    this.noteWord();
  }

  /** Notes a word of the watch, or its end in good order: whatever came before was told. */
  noteWord(): void {
    this.noteResponse();
    this.#noteCaughtUp();
    if (!this.#isBehind) this.#currentAtMs = this.#heardAtMs;
  }

  /** Notes that a list or a watch has failed. */
  noteFailure(): void {
    this.#isBehind = true;
    this.#resumedAtMs = undefined;
  }

  /** Notes that the server has agreed to a watch. */
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
