import { finished, type Readable } from "node:stream";
import { releaseBytes } from "#runtime/releaseMemory.ts";

/** Minimum speed of a client. */
export interface Pace {
  /** The longest time without a byte. */
  idleMs: number;
  /** At least `minBytesPerWindow` bytes must arrive in each window of this length. */
  windowMs: number;
  minBytesPerWindow: number;
}

/** The client sends nothing, or less than the minimum. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** The body was cut off. */
export class CutOff extends Error {
  override readonly name = "CutOff";
}

/** Memory that is being filled. */
interface Filling {
  memory: Buffer;
  filled: number;
  completion: PromiseWithResolvers<number>;
}

/**
 * Copies a body into given buffers and releases the received chunks. An upload takes tens of thousands of
 * reads; each costs one copy and no promise.
 */
export class BodyReader {
  readonly #body: Readable;
  readonly #pace: Pace;
  readonly #signal: AbortSignal;
  readonly #idle: NodeJS.Timeout;
  readonly #unfollow: () => void;
  #filling: Filling | undefined;
  /** Received bytes that are not copied yet, starting at `from`. */
  #uncopied: { bytes: Buffer; from: number } | undefined;
  #outcome: { cutOff?: CutOff } | undefined;
  /** Start of the current wait for the client; total wait and received bytes in this window. */
  #sinceMs = 0;
  #waitedMs = 0;
  #windowBytes = 0;
  #partialBytes = 0;

  constructor(body: Readable, pace: Pace, signal: AbortSignal) {
    this.#body = body;
    this.#pace = pace;
    this.#signal = signal;
    this.#idle = setTimeout(() => this.#fail(new TooSlow("The upload stalled. Try again.")), pace.idleMs);
    this.#unfollow = finished(body, { writable: false }, this.#end);
    body.on("data", this.#take).pause();
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /**
   * Fills the memory and returns the number of bytes; fewer than the memory holds only at the end of the
   * body.
   *
   * @throws CutOff, TooSlow (only time spent here counts), and the signal's reason
   */
  async fill(memory: Buffer): Promise<number> {
    this.#signal.throwIfAborted();
    const completion = Promise.withResolvers<number>();
    this.#filling = { memory, filled: 0, completion };
    this.#idle.refresh();
    this.#sinceMs = performance.now();
    this.#copy();
    this.#continue();
    return completion.promise;
  }

  /** Bytes that the failed `fill` has copied before its failure. */
  get partialBytes(): number {
    return this.#partialBytes;
  }

  /** Stops reading; the rest of the body can be read by others. */
  close(): void {
    clearTimeout(this.#idle);
    this.#signal.removeEventListener("abort", this.#abort);
    this.#unfollow();
    this.#body.off("data", this.#take).pause();
  }

  readonly #take = (bytes: Buffer): void => {
    this.#uncopied = { bytes, from: 0 };
    this.#windowBytes += bytes.length;
    this.#checkPace();
    this.#copy();
  };

  #copy(): void {
    if (this.#filling === undefined || this.#uncopied === undefined) return;
    const { memory, filled } = this.#filling;
    const { bytes, from } = this.#uncopied;
    const copied = bytes.copy(memory, filled, from);
    this.#filling.filled += copied;
    this.#uncopied.from += copied;
    if (this.#uncopied.from === bytes.length) {
      this.#uncopied = undefined;
      releaseBytes(bytes);
    }
    if (this.#filling.filled === memory.length) this.#settle();
  }

  #checkPace(): void {
    this.#idle.refresh();
    const nowMs = performance.now();
    this.#waitedMs += nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    if (this.#waitedMs < this.#pace.windowMs) return;
    if (this.#windowBytes < this.#pace.minBytesPerWindow)
      this.#fail(new TooSlow("The upload is too slow. Try again over a faster connection."));
    this.#waitedMs = 0;
    this.#windowBytes = 0;
  }

  readonly #end = (error?: Error | null): void => {
    this.#outcome = error
      ? { cutOff: new CutOff("The body was cut off. Send it again.", { cause: error }) }
      : {};
    this.#continue();
  };

  readonly #abort = (): void => this.#fail(this.#signal.reason);

  #continue(): void {
    if (this.#filling === undefined) return;
    if (this.#outcome === undefined) this.#body.resume();
    else if (this.#outcome.cutOff === undefined) this.#settle();
    else this.#fail(this.#outcome.cutOff);
  }

  #settle(): void {
    this.#filling?.completion.resolve(this.#filling.filled);
    this.#stop();
  }

  #fail(reason: unknown): void {
    this.#partialBytes = this.#filling?.filled ?? 0;
    this.#filling?.completion.reject(reason);
    this.#stop();
  }

  #stop(): void {
    this.#filling = undefined;
    this.#body.pause();
  }
}
