#include <signal.h>
#include <stdbool.h>

/* Blocks the signals that nextSignal returns. `before` receives the mask from before, which the game is to
 * have. */
void blockSignals(sigset_t *before);

/* Waits for at most one signal, up to this long, and forwards the game's output meanwhile. Returns its number
 * or 0. */
int nextSignal(long waitMs);

bool isStopSignal(int number);
