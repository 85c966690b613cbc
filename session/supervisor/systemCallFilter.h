#include <stdbool.h>

/* Installs the filter for this process and everything it starts. Returns whether it succeeded. `internet`
 * allows TCP and UDP sockets. */
bool installSystemCallFilter(bool internet);

/* Returns the filter as a libseccomp context, which the caller releases; NULL when it cannot be built. */
void *buildSystemCallFilter(bool internet);
