import type pg from "pg";

/** Runs SQL: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

/**
 * Resolves when the database responds.
 *
 * @throws the database's error
 */
export async function pingDatabase(db: Queryable): Promise<void> {
  await db.query("SELECT 1");
}

/**
 * Returns the current time of the database. Compare recorded times with it, because a process's clock may be
 * minutes off.
 */
export async function findDatabaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>({ name: "database-now", text: `SELECT now() AS "now"` });
  if (rows[0] === undefined) throw new Error("The database did not return its time.");
  return rows[0].now;
}
