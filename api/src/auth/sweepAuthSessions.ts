import { deleteOldRows } from "../stores/deleteOldRows.ts";
import type { Postgres } from "../stores/postgres.ts";
import { deleteOldAuthSessions } from "./authSessionQueries.ts";

/** What sweeping sign-ins needs. */
export interface SweepAuthSessionsDeps {
  config: { auth: { tokenLifetimeSeconds: number } };
  postgres: Postgres;
}

/**
 * So long no cookie of a sign-in outlives its lifetime, also where an outage of the database kept its last
 * use from being noted.
 */
const graceSeconds = 7 * 86_400;

/** Deletes sign-ins, ended or not, that nobody has a valid cookie of any more. */
export async function sweepAuthSessions({ postgres, config }: SweepAuthSessionsDeps): Promise<void> {
  const seconds = config.auth.tokenLifetimeSeconds + graceSeconds;
  await deleteOldRows((max) => deleteOldAuthSessions(postgres.pool, seconds, max));
}
