import { repeatUpTo } from "#runtime/scheduling/backgroundJob.ts";
import type { Postgres } from "./postgres.ts";
import type { Queryable } from "./queryable.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DomainError } from "../errors.ts";

const rowsPerPassMax = 50;

/** A sweep of rows whose objects are no longer needed. */
interface RowSweep<Row extends { id: string }> {
  /**
   * Returns a row that is due and none of these; undefined when there is none. From then on nobody may want
   * again what the row names: for what it notes of that in the database, or because its time was over for
   * long.
   */
  claim: (db: Queryable, except: readonly string[]) => Promise<Row | undefined>;
  /** Removes from the object store what the row names; it may be gone already. */
  remove: (row: Row) => Promise<void>;
  /** Notes in the database that it is removed. */
  note: (db: Queryable, row: Row) => Promise<void>;
  logRemoved: (row: Row) => void;
  logRefused: (row: Row, error: unknown) => void;
}

/**
 * Sweeps the rows that are due, and goes on with the others where the object store keeps what one of them
 * names. No transaction waits for the object store: Postgres would end one that does nothing for long, and
 * its locks with it. What a process leaves undone stays due.
 */
export async function sweepRows<Row extends { id: string }>(
  { postgres, refused }: { postgres: Postgres; refused: RefusedRows },
  { claim, remove, note, logRemoved, logRefused }: RowSweep<Row>,
): Promise<void> {
  let refusedCount = 0;
  await repeatUpTo(rowsPerPassMax, async () => {
    const row = await claim(postgres.pool, refused.waiting);
    if (row === undefined) return false;
    const isRemoved = await refused.attempt(
      row.id,
      () => remove(row),
      (error) => logRefused(row, error),
    );
    if (isRemoved) {
      await note(postgres.pool, row);
      logRemoved(row);
    } else {
      refusedCount++;
    }
    return refusedCount < refusedPerPassMax;
  });
}

/**
 * So many failures end a pass: the object store itself may be unavailable then, and each costs its timeout.
 */
export const refusedPerPassMax = 5;

const baseMs = 5_000;
/** No caller waits for removals. */
const ordinaryMaxMs = 3600_000;
/** Where more are refused, it is not for a row's sake. */
const rowsMax = 1000;

/**
 * Remembers rows whose objects the object store refused to change. Each is skipped for a while, from seconds
 * up to `maxMs` (by default an hour), so it does not block the rows behind it. One process does this work,
 * and the memory ends with it.
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

const statementsPerPassMax = 50;
const rowsPerStatement = 1000;

/**
 * Deletes rows by statements of bounded size, each of which says how many it deleted; what one pass leaves is
 * for the next.
 */
export async function deleteOldRows(deleteSome: (max: number) => Promise<number>): Promise<void> {
  await repeatUpTo(
    statementsPerPassMax,
    async () => (await deleteSome(rowsPerStatement)) === rowsPerStatement,
  );
}
