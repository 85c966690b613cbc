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
   * Returns a row that is due and not in `except`; undefined without one. Afterwards its objects cannot be
   * needed again, either because the function marks the row in the database or because its retention is long
   * over.
   */
  claim: (db: Queryable, except: readonly string[]) => Promise<Row | undefined>;
  /** Removes the row's objects from the object store. They may already be gone. */
  remove: (row: Row) => Promise<void>;
  /** Records the removal in the database. */
  note: (db: Queryable, row: Row) => Promise<void>;
  logRemoved: (row: Row) => void;
  logRefused: (row: Row, error: unknown) => void;
}

/**
 * Sweeps the rows that are due, and continues with the others when the object store fails to remove one row's
 * objects. No transaction waits for the object store, because Postgres would end an idle transaction and
 * release its locks. Unfinished work stays due.
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
 * This number of failures ends a pass: the object store may be unavailable, and each failure costs its
 * timeout.
 */
export const refusedPerPassMax = 5;

const baseMs = 5_000;
/** Default of `maxMs`. Long, because no caller waits for removals. */
const ordinaryMaxMs = 3600_000;
/** More refused rows than this indicate a problem of the store and not of the rows. */
const rowsMax = 1000;

/**
 * Skips rows whose objects the object store refused to change, for seconds up to `maxMs` (by default an
 * hour), so that they do not block later rows. The state is kept in memory, because one process does this
 * work.
 */
export class RefusedRows {
  readonly #clock: Clock;
  readonly #maxMs: number;
  readonly #rows = new Map<string, { failures: number; againMs: number }>();

  constructor(clock: Clock, maxMs = ordinaryMaxMs) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Ids of the rows that are skipped now. */
  get waiting(): string[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#rows].flatMap(([id, { againMs }]) => (againMs > nowMs ? [id] : []));
  }

  /**
   * Runs the work of a row and returns whether it succeeded. If the object store is unavailable for it, the
   * row is skipped for a while and its first failure is logged. Other errors are thrown.
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

  /** Returns the number of consecutive failures. */
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
 * Deletes rows in statements of bounded size, each of which returns the number of deleted rows. Remaining
 * rows are left to the next pass.
 */
export async function deleteOldRows(deleteSome: (max: number) => Promise<number>): Promise<void> {
  await repeatUpTo(
    statementsPerPassMax,
    async () => (await deleteSome(rowsPerStatement)) === rowsPerStatement,
  );
}
