import { DomainError, unavailable } from "../../errors.ts";

/**
 * How many archives this process receives at a time. One takes 20 MiB beside the heap (three parts of 5 MiB, and what is unpacked ahead of its reader), and
 * up to 84 MiB of the heap for its names: 200,000 of them, of as many bytes as they may have together, with a second string for each that is not all in
 * small letters. The pod may have 768 MiB, of which V8 gives itself half as heap; 60 MiB of that are the program's. A fourth archive would leave nothing
 * for requests, and for players' uploads.
 */
export const gameUploadsMax = 3;
/** How many of them may be of one partner, whose slow uploads would otherwise keep out everybody's. */
export const gameUploadsOfPartnerMax = 2;

/** The archives of games that this process receives: each takes its memory, so that there are only so many at a time, and fewer of each partner. */
export class GameUploads {
  readonly #uploading = new Set<{ partnerId: string }>();

  /**
   * Receives one more, of this partner. Throws upload_in_progress while as many of theirs are received as may be, and unavailable when there are
   * as many of all partners.
   */
  async run<T>(partnerId: string, work: () => Promise<T>): Promise<T> {
    const ofPartner = [...this.#uploading].filter((upload) => upload.partnerId === partnerId);
    if (ofPartner.length >= gameUploadsOfPartnerMax) {
      const message = `${gameUploadsOfPartnerMax} archives of yours are being uploaded: wait for the end of one.`;
      throw new DomainError("upload_in_progress", { message, retryAfterSeconds: 10 });
    }
    if (this.#uploading.size >= gameUploadsMax) throw unavailable("Many archives are being uploaded just now: try again in a moment.", undefined, 10);
    const upload = { partnerId };
    this.#uploading.add(upload);
    try {
      return await work();
    } finally {
      this.#uploading.delete(upload);
    }
  }
}
