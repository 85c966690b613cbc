import { DomainError, unavailable } from "../errors.ts";

/**
 * The uploads of saves that this process receives: each takes the memory of some parts, so that there are
 * only so many at a time, and one of each player. A single player's slow uploads would otherwise keep out
 * everybody's.
 */
export class SaveUploads {
  readonly #max: number;
  readonly #uploading = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Receives one more, of this player. Throws conflict while another of theirs is received, and unavailable
   * when there are as many as may be.
   */
  async run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    if (this.#uploading.has(userId)) {
      throw new DomainError("conflict", {
        message: "Another save of yours is being uploaded: wait for its end.",
        retryAfterSeconds: 10,
      });
    }
    if (this.#uploading.size >= this.#max)
      throw unavailable("Many saves are being uploaded just now: try again in a moment.");
    this.#uploading.add(userId);
    try {
      return await work();
    } finally {
      this.#uploading.delete(userId);
    }
  }
}
