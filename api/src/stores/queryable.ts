import type pg from "pg";

/** What SQL runs on: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;

/** Resolves when the database answers. Throws its error when it does not. */
export async function pingDatabase(db: Queryable): Promise<void> {
  await db.query("SELECT 1");
}
