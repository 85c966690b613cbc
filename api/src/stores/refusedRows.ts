import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DomainError } from "../errors.ts";

/**
 * So many failures end a pass: the object store itself may be unavailable then, and each costs its timeout.
 */
export const refusedPerPassMax = 5;

const baseMs = 5_000;
/** Nobody waits for what is removed. */
const ordinaryMaxMs = 3600_000;
/** Where more are refused, it is not for a row's sake. */
const rowsMax = 1000;

/**
 * Remembers rows of which the object store refused what was to be done. Each is left alone for a while, from
 * some seconds up to `maxMs` (an hour unless given), so that those behind it are not held up by it. One
 * process does such work, and forgets them when it ends.
 */
export class RefusedRows {
  readonly #clock: Clock;
  readonly #maxMs: number;
  readonly #rows = new Map<string, { failures: number; againMs: number }>();

  constructor(clock: Clock, maxMs = ordinaryMaxMs) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** The ids of those that are left alone now. */
  get waiting(): string[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#rows].flatMap(([id, { againMs }]) => (againMs > nowMs ? [id] : []));
  }

  /**
   * Does the work of a row and returns whether the object store let it: when it is unavailable for it, the
   * row is left alone for a while, and the first of its failures is reported. Throws any other error.
   */
  async attempt(id: string, work: () => Promise<void>, report: (error: unknown) => void): Promise<boolean> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
      if (this.#add(id) === 1) report(error);
      return false;
    }
    this.#rows.delete(id);
    return true;
  }

  /** Returns how often in a row it has failed. */
  #add(id: string): number {
    const failures = (this.#rows.get(id)?.failures ?? 0) + 1;
    this.#rows.delete(id);
    this.#rows.set(id, {
      failures,
      againMs: this.#clock.monotonicMs() + backOffMs({ baseMs, maxMs: this.#maxMs }, failures, Math.random),
    });
    const [longest] = this.#rows.keys();
    if (this.#rows.size > rowsMax && longest !== undefined) this.#rows.delete(longest);
    return failures;
  }
}
