/** Calls back after `ms` milliseconds, unless the returned function is called before. */
type Delay = (ms: number, callback: () => void) => () => void;

/**
 * Decides when the page sends keepalives: regularly while somebody plays, and at once when somebody plays
 * again. Without input the session's idle timeout runs out.
 */
export class KeepaliveSchedule {
  readonly #delay: Delay;
  #send: (() => void) | undefined;
  #cancelTimer: () => void = () => undefined;
  #isDue = false;
  #hasInput = false;

  constructor(delay: Delay = delayByTimer) {
    this.#delay = delay;
  }

  /** Whether there was input since the last keepalive. */
  get hasInput(): boolean {
    return this.#hasInput;
  }

  /** Calls `send` for each keepalive until the returned function is called. */
  start(send: () => void): () => void {
    this.#send = send;
    this.#sendIfWanted();
    return () => {
      this.#send = undefined;
    };
  }

  noteInput(): void {
    this.#hasInput = true;
    this.#sendIfWanted();
  }

  /** A keepalive is on its way, for the input so far. */
  sending(): void {
    this.#hasInput = false;
    this.#isDue = false;
    this.#cancelTimer();
  }

  /** The input before the last keepalive still counts. Whoever sent it retries. */
  failed(): void {
    this.#hasInput = true;
  }

  /** The keepalive has arrived; the next one is due after the pause, or with the first input after it. */
  kept(pauseMs: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#delay(pauseMs, () => {
      this.#isDue = true;
      this.#sendIfWanted();
    });
  }

  #sendIfWanted(): void {
    if (this.#isDue && this.#hasInput) this.#send?.();
  }
}

function delayByTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
