import { deleteOldRows } from "../stores/deleteOldRows.ts";
import type { Postgres } from "../stores/postgres.ts";
import { deleteOldIdempotencyKeys } from "./idempotencyQueries.ts";

/** What sweeping idempotency keys needs. */
export interface SweepIdempotencyKeysDeps {
  postgres: Postgres;
}

/** Deletes idempotency keys that are too old to be repeated. */
export async function sweepIdempotencyKeys({ postgres }: SweepIdempotencyKeysDeps): Promise<void> {
  await deleteOldRows((max) => deleteOldIdempotencyKeys(postgres.pool, max));
}
