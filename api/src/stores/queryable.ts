import type pg from "pg";

/** What SQL runs on: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

/** Resolves when the database answers. Throws its error when it does not. */
export async function pingDatabase(db: Queryable): Promise<void> {
  await db.query("SELECT 1");
}

/**
 * Returns now by the database's clock, with which what the database has noted is to be compared: any process'
 * own may be minutes off.
 */
export async function findDatabaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>({ name: "database-now", text: `SELECT now() AS "now"` });
  if (rows[0] === undefined) throw new Error("The database does not know the time.");
  return rows[0].now;
}
