import { BoundedQueue } from "#runtime/boundedQueue.ts";

/** More at once would only make each of them later. */
const transfersAtOnce = 8;
/** A pass that has waited for so long ends, and the next one sees what its session needs by then. */
const waitMs = 5_000;
/** Higher than any time in milliseconds is far from 1970. */
const awaitedFirst = 1e15;

/** Thrown to a pass that has waited long enough for its turn: it is to come again, and loses no place by that. */
export class NoTurnYet extends Error {
  constructor() {
    super("Other sessions' saves are on their way to or from the object store.");
    this.name = "NoTurnYet";
  }
}

/** The saves of a node share the line to the object store: each waits here for its turn, and holds up nothing else meanwhile. */
export class TransferTurns {
  readonly #uploads: BoundedQueue;
  readonly #restores: BoundedQueue;

  /** Of so many passes at once all may wait. */
  constructor(passesAtOnce: number) {
    const options = { concurrency: transfersAtOnce, waitingMax: passesAtOnce, deadlineMs: waitMs, tooMany: () => new NoTurnYet() };
    this.#uploads = new BoundedQueue(options);
    this.#restores = new BoundedQueue(options);
  }

  /** Uploads in its turn: what a player or a session's end waits for goes before all else, and of these, as of the others, what was due first. Throws NoTurnYet. */
  upload<T>({ dueMs, isAwaited }: { dueMs: number; isAwaited: boolean }, work: () => Promise<T>): Promise<T> {
    return this.#uploads.run(work, (isAwaited ? awaitedFirst : 0) - dueMs);
  }

  /** Fetches a save in its turn: the session that was launched first goes first. Throws NoTurnYet. */
  restore<T>(launchedMs: number, work: () => Promise<T>): Promise<T> {
    return this.#restores.run(work, -launchedMs);
  }
}
