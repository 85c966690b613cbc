import { unavailable } from "../errors.ts";

/** The uploads of saves that this process receives: each takes the memory of some parts, so that there are only so many at a time. */
export class SaveUploads {
  readonly #max: number;
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Receives one more. Throws unavailable when there are as many as may be. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) throw unavailable("Many saves are being uploaded just now: try again in a moment.");
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }
}
