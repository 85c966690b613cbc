#include <signal.h>
#include <stdbool.h>

/* From here signals wait to be asked for. `before` takes what the game's own mask shall be. */
void takeSignals(sigset_t *before);

/* Takes at most one signal, waiting up to this long for it while the game's output goes on. Returns its number or 0. */
int nextSignal(long waitMs);

bool isStopSignal(int number);
