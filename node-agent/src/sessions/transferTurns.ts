import { PassInterrupted } from "#kube/controllers/reconciler.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";

/** Concurrency limit: more at once would only delay each of them. */
const transfersAtOnce = 8;
/** A pass that has waited for so long ends, and the next one sees what its session needs by then. */
const waitMs = 5_000;
/** Higher than any time in milliseconds is far from 1970. */
const awaitedFirst = 1e15;

/** Ends a pass that has waited long enough for its turn. The next pass waits again and keeps its priority. */
export class NoTurnYet extends PassInterrupted {
  constructor() {
    super("Too many saves are being transferred to or from the object store.");
    this.name = "NoTurnYet";
  }
}

/** An upload that waits for its turn. */
export interface WaitingUpload {
  /** The session's key. */
  key: string;
  /** When the upload was due, in milliseconds since 1970. */
  dueMs: number;
  /** A player waits for it, or the end of the session. */
  isAwaited: boolean;
}

/**
 * Limits concurrent transfers of saves to and from the object store. A waiting transfer blocks nothing else.
 */
export class TransferTurns {
  readonly #uploads: BoundedQueue;
  readonly #restores: BoundedQueue;
  /** Ends the wait of a session's upload. */
  readonly #waiting = new Map<string, AbortController>();

  /** `passesAtOnce` is how many passes the agent makes at once; all of them may wait here. */
  constructor(passesAtOnce: number) {
    const options = {
      concurrency: transfersAtOnce,
      waitingMax: passesAtOnce,
      deadlineMs: waitMs,
      tooMany: () => new NoTurnYet(),
    };
    this.#uploads = new BoundedQueue(options);
    this.#restores = new BoundedQueue(options);
  }

  /**
   * Uploads when it is this session's turn: awaited uploads go before all others, and among equals the one
   * that was due first. Throws NoTurnYet.
   */
  async upload<T>({ key, dueMs, isAwaited }: WaitingUpload, work: () => Promise<T>): Promise<T> {
    const waiting = new AbortController();
    this.#waiting.set(key, waiting);
    const begin = (): Promise<T> => {
      this.#waiting.delete(key);
      return work();
    };
    try {
      return await this.#uploads.run(begin, {
        priority: (isAwaited ? awaitedFirst : 0) - dueMs,
        signal: waiting.signal,
      });
    } finally {
      this.#waiting.delete(key);
    }
  }

  /** Interrupts a session's wait for its upload after a change. Its next pass decides again. */
  lookAgain(key: string): void {
    this.#waiting.get(key)?.abort(new NoTurnYet());
  }

  /** Fetches a save in its turn: the session that was launched first goes first. Throws NoTurnYet. */
  restore<T>(launchedMs: number, work: () => Promise<T>): Promise<T> {
    return this.#restores.run(work, { priority: -launchedMs });
  }
}
