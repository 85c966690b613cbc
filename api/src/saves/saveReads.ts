import { BoundedQueue } from "#runtime/boundedQueue.ts";
import { DomainError, unavailable } from "../errors.ts";

const deadlineMs = 20_000;
const waitingPerPlayerMax = 4;
const retrySeconds = 10;

/**
 * Bounds how many whole saves a process reads at once for its players' requests; the others wait for a while. Of each player it reads one: what they ask
 * for besides waits behind that, in no place of the others'. A single player's requests would otherwise keep out everybody's.
 */
export class SaveReads {
  readonly #all = new BoundedQueue({
    concurrency: 4, waitingMax: 32, deadlineMs, tooMany: () => unavailable("Many saves are being read just now: try again in a moment."),
  });
  readonly #players = new Map<string, { queue: BoundedQueue; requests: number }>();

  /** Runs `work`, which reads a save of this player, in its turn. Throws conflict when too much of the player's waits, and unavailable when too much of all does. */
  async run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const player = this.#players.get(userId) ?? { queue: new BoundedQueue({ concurrency: 1, waitingMax: waitingPerPlayerMax, deadlineMs, tooMany: tooManyOfPlayer }), requests: 0 };
    this.#players.set(userId, player);
    player.requests += 1;
    try {
      return await player.queue.run(() => this.#all.run(work));
    } finally {
      player.requests -= 1;
      if (player.requests === 0) this.#players.delete(userId);
    }
  }
}

function tooManyOfPlayer(): DomainError {
  return new DomainError("conflict", { message: "Other saves of yours are being read just now: try again in a moment.", retryAfterSeconds: retrySeconds });
}
