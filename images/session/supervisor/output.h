/*
 * What the game prints, on its way to the container's log. The node keeps that log and spends processor time on it that no pod pays
 * for, so that only so much of it goes on; a game that prints more loses the rest and is never held up.
 */

/* Opens the way. Returns what the game writes into, or -1. */
int openOutput(void);

/* What the supervisor waits for with poll(2): something was printed. -1 before there is a game, and after all its processes. */
int outputToRead(void);

/* Hands on what can be read now, at most one buffer of it. */
void forwardOutput(void);

/* Hands on what the game had printed before it ended, and closes the way. */
void drainOutput(void);

/* A line of the supervisor's own. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
