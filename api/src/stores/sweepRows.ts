import { repeatUpTo } from "#runtime/repeatUpTo.ts";
import type { Postgres } from "./postgres.ts";
import type { Queryable } from "./queryable.ts";
import { refusedPerPassMax, type RefusedRows } from "./refusedRows.ts";

const rowsPerPassMax = 50;

/** What is done with rows whose objects nobody needs. */
export interface RowSweep<Row extends { id: string }> {
  /** Locks a row that is due and none of these; undefined when there is none. */
  lock: (transaction: Queryable, except: readonly string[]) => Promise<Row | undefined>;
  /** Removes from the object store what the row names; it may be gone already. */
  remove: (row: Row) => Promise<void>;
  /** Notes in the database that it is removed. */
  note: (transaction: Queryable, row: Row) => Promise<void>;
  logRemoved: (row: Row) => void;
  logRefused: (row: Row, error: unknown) => void;
}

/** Sweeps the rows that are due, each in a transaction of its own, and goes on with the others where the object store keeps what one of them names. */
export async function sweepRows<Row extends { id: string }>(
  { postgres, refused }: { postgres: Postgres; refused: RefusedRows }, { lock, remove, note, logRemoved, logRefused }: RowSweep<Row>,
): Promise<void> {
  let refusedCount = 0;
  await repeatUpTo(rowsPerPassMax, async () => {
    const swept = await postgres.transaction(async (transaction) => {
      const row = await lock(transaction, refused.waiting);
      if (row === undefined) return undefined;
      const isRemoved = await refused.attempt(row.id, () => remove(row), (error) => logRefused(row, error));
      if (isRemoved) await note(transaction, row);
      return { row, isRemoved };
    });
    if (swept === undefined) return false;
    if (swept.isRemoved) logRemoved(swept.row);
    else refusedCount++;
    return refusedCount < refusedPerPassMax;
  });
}
