/*
 * Forwards the game's output to the container's log at a limited rate. The node stores that log and spends
 * processor time on it that no pod accounts for. Output beyond the rate is dropped; the game never waits for
 * it.
 */

/* Opens the pipe. Returns the game's end, or -1. */
int openOutput(void);

/* Returns the descriptor to poll(2) for output; -1 before the game starts and after its last process. */
int outputToRead(void);

/* Forwards available output, at most one buffer. */
void forwardOutput(void);

/* Forwards the output that the game wrote before it ended, and closes the pipe. */
void drainOutput(void);

/* Writes a line of the supervisor to the log. */
__attribute__((format(printf, 1, 2))) void logLine(const char *format, ...);
