import { SharedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { DomainError, unavailable } from "../errors.ts";

const deadlineMs = 20_000;
const retrySeconds = 10;

/**
 * Bounds how many whole saves a process reads at once for its players' requests, and reads one of each
 * player; the others wait for a while.
 */
export class SaveReads {
  readonly #queue = new SharedQueue({
    all: {
      concurrency: 4,
      waitingMax: 32,
      deadlineMs,
      tooMany: () => unavailable("Many saves are being read just now: try again in a moment."),
    },
    each: { concurrency: 1, waitingMax: 4, deadlineMs, tooMany: tooManyOfPlayer },
  });

  /**
   * Runs `work`, which reads a save of this player, in its turn. Throws conflict when too much of the
   * player's waits, and unavailable when too much of all does.
   */
  run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(userId, work);
  }
}

function tooManyOfPlayer(): DomainError {
  return new DomainError("conflict", {
    message: "Other saves of yours are being read just now: try again in a moment.",
    retryAfterSeconds: retrySeconds,
  });
}
