import { repeatUpTo } from "#runtime/scheduling/backgroundJob.ts";
import type { Postgres } from "./postgres.ts";
import type { Queryable } from "./queryable.ts";
import { refusedPerPassMax, type RefusedRows } from "./refusedRows.ts";

const rowsPerPassMax = 50;

/** What is done with rows whose objects nobody needs. */
export interface RowSweep<Row extends { id: string }> {
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
