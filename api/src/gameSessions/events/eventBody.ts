import { Readable } from "node:stream";

/** How much may wait for a slow reader, besides what the connection itself buffers. */
const bufferBytes = 16 * 1024;

/**
 * A response that is written event by event. A reader who does not keep up is disconnected, and gets the
 * current state when it reconnects.
 */
export class EventBody extends Readable {
  readonly #disconnect: () => void;

  /** `disconnect` must close the connection. */
  constructor(disconnect: () => void) {
    super({ highWaterMark: bufferBytes });
    this.#disconnect = disconnect;
  }

  override _read(): void {
    // Events are pushed when they happen.
  }

  /** Sends the text, or disconnects the reader when too much waits already. */
  send(text: string): void {
    if (this.destroyed || this.readableEnded || this.#isOver) return;
    if (this.readableLength + Buffer.byteLength(text) > bufferBytes) {
      this.#isOver = true;
      this.#disconnect();
      return;
    }
    this.push(text);
  }

  /** Ends the response after what was sent. */
  end(): void {
    if (this.destroyed || this.#isOver) return;
    this.#isOver = true;
    this.push(null);
  }

  #isOver = false;
}
