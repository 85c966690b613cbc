import { systemErrorCode } from "#runtime/systemError.ts";
import type { SessionRecord } from "./record.ts";

/**
 * Records that the disk did not take when the object store had the save that they name. A disk may stay full, or read-only, for good: what is stored is
 * reported all the same, and not stored again. An agent that ends before the disk takes them stores the same bytes under the same key once more.
 */
export class UnwrittenRecords {
  readonly #write: (record: SessionRecord) => Promise<void>;
  /** By game session. */
  readonly #records = new Map<string, SessionRecord>();

  constructor(write: (record: SessionRecord) => Promise<void>) {
    this.#write = write;
  }

  /** Writes the record, or remembers it where the disk does not take it. */
  async write(record: SessionRecord): Promise<void> {
    try {
      await this.#write(record);
      this.#records.delete(record.gameSession);
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error;
      this.#records.set(record.gameSession, record);
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
