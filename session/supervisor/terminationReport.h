/*
 * The game's termination report: its usage and how it ended, as JSON in a directory that the streamer reads
 * (packages/contracts/src/termination.ts). The game runs as the same user and can write there too, so readers
 * treat it as a claim.
 */

/* Sets the directory. The game's running time counts from this call. */
void openTerminationReport(const char *directory);

/* Replaces the report. A running game has neither reason (NULL) nor exit code. */
void writeTerminationReport(const char *reason, int exitCode);
