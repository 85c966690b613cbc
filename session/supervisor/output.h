/*
 * Forwards the game's output to the container's log, within a rate. The node keeps that log and spends
 * processor time on it that no pod accounts for. What a game prints beyond the rate is dropped; the game
 * never waits for it.
 */

/* Opens the pipe. Returns the end that the game writes to, or -1. */
int openOutput(void);

/* Returns the descriptor to poll(2) for output; -1 before the game starts, and after its last process. */
int outputToRead(void);

/* Forwards what can be read now, at most one buffer of it. */
void forwardOutput(void);

/* Forwards what the game printed before it ended, and closes the pipe. */
void drainOutput(void);

/* Writes a line of the supervisor's own to the log. */
__attribute__((format(printf, 1, 2))) void logLine(const char *format, ...);
