/**
 * What opens a transaction in which one launch at a time decides, until it ends, so that two never take the same last place on a node; what
 * changes a save slot takes the same lock, so that no launch starts from a save that is just being replaced. The number is any constant: all copies
 * of this program agree on it.
 */
export const lockLaunches = "SELECT pg_advisory_xact_lock(7264010332)";
