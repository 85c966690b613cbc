#include <signal.h>
#include <stdbool.h>

/* Blocks the signals that nextSignal returns. `before` receives the previous mask, which the game needs. */
void blockSignals(sigset_t *before);

/* Waits up to this long for one signal. In the meantime, forwards the game's output and starts the session
 * bus when a program connects to it. Returns the signal's number or 0. */
int nextSignal(long waitMs);

bool isStopSignal(int number);
