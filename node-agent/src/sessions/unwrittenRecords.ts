import type { Logger } from "#runtime/logger.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { SessionRecord } from "./record.ts";

/**
 * Records that the disk did not take: of a save that the object store has, or of how a session's last save
 * ended. A disk may stay full, or read-only, for good: what is known is reported all the same, and nothing is
 * stored again. An agent that ends before the disk takes them goes by what the session's status shows, and
 * else stores the same bytes under the same key once more.
 */
export class UnwrittenRecords {
  readonly #write: (record: SessionRecord) => Promise<void>;
  readonly #logger: Logger;
  /** By game session. */
  readonly #records = new Map<string, SessionRecord>();

  constructor(write: (record: SessionRecord) => Promise<void>, logger: Logger) {
    this.#write = write;
    this.#logger = logger;
  }

  /** Writes the record, or remembers it where the disk does not take it. */
  async write(record: SessionRecord): Promise<void> {
    try {
      await this.#write(record);
      this.#records.delete(record.gameSession);
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error;
      const { gameSession } = record;
      if (!this.has(gameSession))
        this.#logger.warn(
          { err: error, gameSession },
          "The disk does not take a session's record; it is remembered, and tried again.",
        );
      this.#records.set(gameSession, record);
    }
  }

  /** Returns the record that is still to be written, after one more try; undefined when there is none. */
  async get(gameSession: string): Promise<SessionRecord | undefined> {
    const record = this.#records.get(gameSession);
    if (record !== undefined) await this.write(record);
    return record;
  }

  has(gameSession: string): boolean {
    return this.#records.has(gameSession);
  }

  forget(gameSession: string): void {
    this.#records.delete(gameSession);
  }
}
