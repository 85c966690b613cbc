import { finished, type Readable } from "node:stream";
import { releaseBytes } from "#runtime/releaseMemory.ts";

/** How slow a sender may be. */
export interface Pace {
  /** Longest silence. */
  idleMs: number;
  /** After each window at least this many bytes must have come in it. */
  windowMs: number;
  minBytesPerWindow: number;
}

/** The sender fell silent or keeps a connection busy with next to nothing. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** The body ended before its end. */
export class CutOff extends Error {
  override readonly name = "CutOff";
}

/** Memory that is being filled, for whoever waits for it. */
interface Filling {
  memory: Buffer;
  filled: number;
  filledUp: PromiseWithResolvers<number>;
}

/**
 * Copies a body into the memory that it is given, and takes the memory of what came. An upload comes in tens of thousands of reads:
 * each costs a copy here and leaves no promise behind.
 */
export class BodyReader {
  readonly #body: Readable;
  readonly #pace: Pace;
  readonly #signal: AbortSignal;
  readonly #idle: NodeJS.Timeout;
  readonly #unfollow: () => void;
  #filling: Filling | undefined;
  /** What came and is not copied yet, from `from` on. */
  #left: { bytes: Buffer; from: number } | undefined;
  #outcome: { cutOff?: CutOff } | undefined;
  /** Since when the sender is waited for; for how long in this window, and how much came. */
  #sinceMs = 0;
  #waitedMs = 0;
  #windowBytes = 0;

  constructor(body: Readable, pace: Pace, signal: AbortSignal) {
    this.#body = body;
    this.#pace = pace;
    this.#signal = signal;
    this.#idle = setTimeout(() => this.#fail(new TooSlow("The upload fell silent; try again.")), pace.idleMs);
    this.#unfollow = finished(body, { writable: false }, this.#end);
    body.on("data", this.#take).pause();
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /**
   * Fills the memory; resolves with the bytes that it holds then, fewer than it could only at the body's end. Throws CutOff, TooSlow,
   * for which only the time spent here counts, and the signal's reason when that is aborted.
   */
  async fill(memory: Buffer): Promise<number> {
    this.#signal.throwIfAborted();
    const filledUp = Promise.withResolvers<number>();
    this.#filling = { memory, filled: 0, filledUp };
    this.#idle.refresh();
    this.#sinceMs = performance.now();
    this.#copy();
    this.#goOn();
    return filledUp.promise;
  }

  /** Leaves the body where it is: others may read on. */
  close(): void {
    clearTimeout(this.#idle);
    this.#signal.removeEventListener("abort", this.#abort);
    this.#unfollow();
    this.#body.off("data", this.#take).pause();
  }

  readonly #take = (bytes: Buffer): void => {
    this.#left = { bytes, from: 0 };
    this.#windowBytes += bytes.length;
    this.#judgePace();
    this.#copy();
  };

  #copy(): void {
    if (this.#filling === undefined || this.#left === undefined) return;
    const { memory, filled } = this.#filling;
    const { bytes, from } = this.#left;
    const copied = bytes.copy(memory, filled, from);
    this.#filling.filled += copied;
    this.#left.from += copied;
    if (this.#left.from === bytes.length) {
      this.#left = undefined;
      releaseBytes(bytes);
    }
    if (this.#filling.filled === memory.length) this.#settle();
  }

  #judgePace(): void {
    this.#idle.refresh();
    const nowMs = performance.now();
    this.#waitedMs += nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    if (this.#waitedMs < this.#pace.windowMs) return;
    if (this.#windowBytes < this.#pace.minBytesPerWindow) this.#fail(new TooSlow("The upload is too slow; try again over a faster line."));
    this.#waitedMs = 0;
    this.#windowBytes = 0;
  }

  readonly #end = (error?: Error | null): void => {
    this.#outcome = error ? { cutOff: new CutOff("The body was cut off: send it again.", { cause: error }) } : {};
    this.#goOn();
  };

  readonly #abort = (): void => this.#fail(this.#signal.reason);

  #goOn(): void {
    if (this.#filling === undefined) return;
    if (this.#outcome === undefined) this.#body.resume();
    else if (this.#outcome.cutOff === undefined) this.#settle();
    else this.#fail(this.#outcome.cutOff);
  }

  #settle(): void {
    this.#filling?.filledUp.resolve(this.#filling.filled);
    this.#stop();
  }

  #fail(reason: unknown): void {
    this.#filling?.filledUp.reject(reason);
    this.#stop();
  }

  #stop(): void {
    this.#filling = undefined;
    this.#body.pause();
  }
}
