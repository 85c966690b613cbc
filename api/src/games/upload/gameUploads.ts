import { limits } from "#contracts/limits.ts";
import { SharedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { DomainError, unavailable } from "../../errors.ts";

/**
 * Maximum number of archives that a process receives concurrently. Each uses 20 MiB outside the heap: three
 * parts of 5 MiB, and data unpacked ahead of its reader.
 */
export const gameUploadsMax = 8;
/** Maximum number per partner, so that one partner's slow uploads do not block all others. */
export const gameUploadsOfPartnerMax = 4;
export const waitingUploadsOfPartnerMax = 8;
/** A waiting client has sent only its headers, or has filled the buffers of its connection. */
const deadlineMs = 20_000;

/**
 * Number of file and directory names that each upload can keep, and that all of them share beyond that. At
 * most 600,000 names of at most 420 bytes are 250 MB. In a pod of 768 MiB, V8 gives itself a heap of 384 MB,
 * of which the program uses 60 MB.
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
   * Runs `work`, which receives one of the partner's archives, in its turn and returns its result. `work`
   * reports how many names it keeps; the report throws unavailable when the upload exceeds its own names and
   * the shared ones are used up.
   *
   * @throws upload_in_progress when too many of the partner's uploads wait or one waits too long, unavailable
   *   when too many of all partners wait, and the signal's reason when it aborts the wait
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
  const message = `${gameUploadsOfPartnerMax} of your archives are being uploaded or about to be, and others are waiting. Upload the next one when they are done.`;
  return new DomainError("upload_in_progress", { message, retryAfterSeconds: 10 });
}
