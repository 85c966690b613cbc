import type pg from "pg";

/** What SQL runs on: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.Pool, "query">;
