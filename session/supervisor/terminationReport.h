/*
 * The game's termination report: what the game used and how it ended, as JSON in a directory that the
 * streamer reads (packages/contracts/src/termination.ts). The game's processes have the same user and can
 * write there too: readers take it for a claim.
 */

/* Sets the directory. The game's time counts from this call. */
void openTerminationReport(const char *directory);

/* Replaces the report. A running game has neither reason (NULL) nor exit code. */
void writeTerminationReport(const char *reason, int exitCode);
