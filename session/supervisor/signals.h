#include <signal.h>
#include <stdbool.h>

/* Blocks the signals that nextSignal returns. `before` receives the previous mask, which the game needs. */
void blockSignals(sigset_t *before);

/* Waits up to this long for one signal and forwards the game's output in the meantime. Returns its number
 * or 0. */
int nextSignal(long waitMs);

bool isStopSignal(int number);
