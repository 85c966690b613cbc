import type { Queryable } from "../stores/queryable.ts";

/** Any constant: all copies of this program agree on it. */
const launchLock = 7_264_010_332;

/**
 * Lets one launch at a time decide, until its transaction ends, so that two never take the same last place on a node; what changes a save slot
 * takes the same lock, so that no launch starts from a save that is just being replaced.
 */
export async function lockLaunches(transaction: Queryable): Promise<void> {
  await transaction.query("SELECT pg_advisory_xact_lock($1)", [launchLock]);
}
