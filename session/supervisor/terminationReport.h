/*
 * The game's termination report: its usage and how it ended, as JSON in a directory that the streamer reads
 * (packages/contracts/src/termination.ts). The game runs as the same user and can write there too, so readers
 * treat it as a claim.
 */
#include <stdbool.h>

/* Sets the directory. The game's running time counts from this call. */
void openTerminationReport(const char *directory);

/* How a game ended. */
struct gameEnd {
  const char *reason; /* NULL while it runs */
  int exitCode;
  const char *endedBy; /* what ended the last process: "itself", "close-request", "sigterm" or "sigkill" */
  bool hasOutlivedLauncher; /* the launcher exited while the game was still running */
};

/* Replaces the report. */
void writeTerminationReport(struct gameEnd end);
