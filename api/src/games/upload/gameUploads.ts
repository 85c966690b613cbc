import { limits } from "#contracts/limits.ts";
import { SharedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { DomainError, unavailable } from "../../errors.ts";

/**
 * Maximum number of archives that a process receives concurrently. Each uses 20 MiB outside the heap: three
 * parts of 5 MiB, and data unpacked ahead of its reader.
 */
export const gameUploadsMax = 8;
/** How many of them may be of one partner, whose slow uploads would otherwise keep out everybody's. */
export const gameUploadsOfPartnerMax = 4;
export const waitingUploadsOfPartnerMax = 8;
/** A client that waits has sent its headers alone, or fills the buffers of its connection. */
const deadlineMs = 20_000;

/**
 * How many names of files and directories each upload keeps, and how many more all of them share: 600,000 at
 * most, of 420 bytes at most, are 250 MB. V8 gives itself 384 MB as heap in a pod of 768 MiB, of which the
 * program takes 60.
 */
export const ownNames = 25_000;
export const sharedNamesMax = 2 * limits.archive.entries;

/** Limits concurrent uploads of game archives because of their memory, in total and per partner. */
export class GameUploads {
  readonly #queue = new SharedQueue({
    all: {
      concurrency: gameUploadsMax,
      waitingMax: 64,
      deadlineMs,
      tooMany: () =>
        unavailable("Too many archives are being uploaded right now. Try again in a moment.", undefined, 10),
    },
    each: {
      concurrency: gameUploadsOfPartnerMax,
      waitingMax: waitingUploadsOfPartnerMax,
      deadlineMs,
      tooMany: tooManyOfPartner,
    },
  });
  #sharedNames = 0;

  /**
   * Runs `work`, which receives an archive of this partner, in its turn, and returns its result. `work` tells
   * how many names it keeps by now; that throws unavailable when it has more than its own, and all together
   * have more than are shared. Throws upload_in_progress when too many of the partner's wait, or for too
   * long, unavailable when too many of all do, and the signal's reason when that ends the wait.
   */
  run<T>(
    partnerId: string,
    work: (keepNames: (names: number) => void) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#queue.run(
      partnerId,
      async () => {
        let shared = 0;
        const keepNames = (names: number): void => {
          const more = Math.max(0, names - ownNames) - shared;
          if (more > 0 && this.#sharedNames + more > sharedNamesMax)
            throw unavailable(
              "Too many large archives are being uploaded right now. Try again in a few minutes.",
              undefined,
              60,
            );
          this.#sharedNames += more;
          shared += more;
        };
        try {
          return await work(keepNames);
        } finally {
          this.#sharedNames -= shared;
        }
      },
      signal,
    );
  }
}

function tooManyOfPartner(): DomainError {
  const message = `${gameUploadsOfPartnerMax} archives of yours are being uploaded, or about to be, and others wait: upload the next one when they are done.`;
  return new DomainError("upload_in_progress", { message, retryAfterSeconds: 10 });
}
