import { PassInterrupted } from "#kube/controllers/reconciler.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";

/** Concurrency limit. More transfers would only delay each other. */
const transfersAtOnce = 8;
/** A pass that has waited for this long ends, so that the next one observes the session's current needs. */
const waitMs = 5_000;
/** Priority bonus larger than any time in milliseconds since 1970. */
const awaitedBonus = 1e15;

/** Ends a pass that has waited long enough for its turn. The next pass waits again and keeps its priority. */
export class NoTurnYet extends PassInterrupted {
  constructor() {
    super("Too many saves are being transferred to or from the object store.");
    this.name = "NoTurnYet";
  }
}

/** An upload in the queue. */
export interface WaitingUpload {
  /** The session's key. */
  key: string;
  /** When the upload was due, in milliseconds since 1970. */
  dueMs: number;
  /** Whether a player, or the end of the session, waits for it. */
  isAwaited: boolean;
}

/**
 * Limits concurrent transfers of saves to and from the object store. A waiting transfer blocks nothing else.
 */
export class TransferTurns {
  readonly #uploads: BoundedQueue;
  readonly #restores: BoundedQueue;
  /** Aborts the wait of a session's upload, by session key. */
  readonly #waiting = new Map<string, AbortController>();

  /** `passesAtOnce` is the agent's concurrency limit of passes. All of them may wait here. */
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
   * Uploads when it is this session's turn. Awaited uploads go first, and among equals the one that was due
   * first.
   *
   * @throws NoTurnYet
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
        priority: (isAwaited ? awaitedBonus : 0) - dueMs,
        signal: waiting.signal,
      });
    } finally {
      this.#waiting.delete(key);
    }
  }

  /** Interrupts the wait of a session's upload after a change. Its next pass decides again. */
  interruptUpload(key: string): void {
    this.#waiting.get(key)?.abort(new NoTurnYet());
  }

  /** Fetches a save when it is its turn, in the order of launches. @throws NoTurnYet */
  restore<T>(launchedMs: number, work: () => Promise<T>): Promise<T> {
    return this.#restores.run(work, { priority: -launchedMs });
  }
}
