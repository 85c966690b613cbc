/**
 * The statement that opens a transaction in which one launch at a time decides, until it ends: two launches
 * never take the same last place on a node. A change of a save slot takes the same lock, so that no launch
 * starts from a save that is just being replaced. The number is any constant on which all copies of this
 * program agree.
 */
export const lockLaunches = "SELECT pg_advisory_xact_lock(7264010332)";
