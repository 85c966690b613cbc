import { Readable } from "node:stream";

/** What may wait for a slow reader, beside what the connection itself holds. */
const waitingBytes = 16 * 1024;

/** An answer that is written event by event. A reader who does not keep up is dropped: it comes back and is told where things stand. */
export class EventBody extends Readable {
  readonly #drop: () => void;

  /** `drop` has to cut the connection. */
  constructor(drop: () => void) {
    super({ highWaterMark: waitingBytes });
    this.#drop = drop;
  }

  override _read(): void {
    // Events come when they come.
  }

  /** Sends the text, or drops the reader when too much waits already. */
  send(text: string): void {
    if (this.destroyed || this.readableEnded || this.#isOver) return;
    if (this.readableLength + Buffer.byteLength(text) > waitingBytes) {
      this.#isOver = true;
      this.#drop();
      return;
    }
    this.push(text);
  }

  /** Nothing comes after what was sent. */
  end(): void {
    if (this.destroyed || this.#isOver) return;
    this.#isOver = true;
    this.push(null);
  }

  #isOver = false;
}
