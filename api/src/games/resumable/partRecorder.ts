import type { StoredPart } from "../../archives/multipartUpload.ts";

/** Stores parts without gaps; throws when that must not go on. */
type StoreParts = (parts: readonly StoredPart[]) => Promise<void>;

/**
 * Records acknowledged parts in their order, in as few statements as the database allows: parts that arrive
 * while a statement runs share the next one.
 */
export class PartRecorder {
  readonly #store: StoreParts;
  readonly #onFailure: (error: unknown) => void;
  readonly #waiting = new Map<number, StoredPart>();
  #next: number;
  #isHeld: boolean;
  #recording: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;

  /** `isHeld`: parts are only collected, for `take`. */
  constructor(options: {
    firstPart: number;
    isHeld: boolean;
    store: StoreParts;
    onFailure: (error: unknown) => void;
  }) {
    this.#next = options.firstPart;
    this.#isHeld = options.isHeld;
    this.#store = options.store;
    this.#onFailure = options.onFailure;
  }

  add(part: StoredPart): void {
    this.#waiting.set(part.part, part);
    if (this.#isHeld || this.#recording !== undefined) return;
    this.#recording = this.#record()
      .catch((error: unknown) => {
        // Later parts would leave a gap.
        this.#isHeld = true;
        this.#failure = { error };
        this.#onFailure(error);
      })
      .finally(() => {
        this.#recording = undefined;
      });
  }

  /** Stops recording, and returns the parts without gaps that are not recorded. Throws what `store` threw. */
  async take(): Promise<StoredPart[]> {
    this.#isHeld = true;
    await this.#recording;
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#takeNext();
  }

  async #record(): Promise<void> {
    for (let parts = this.#takeNext(); parts.length > 0; parts = this.#isHeld ? [] : this.#takeNext())
      await this.#store(parts);
  }

  #takeNext(): StoredPart[] {
    const parts: StoredPart[] = [];
    for (let part = this.#waiting.get(this.#next); part !== undefined; part = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next);
      this.#next += 1;
      parts.push(part);
    }
    return parts;
  }
}
