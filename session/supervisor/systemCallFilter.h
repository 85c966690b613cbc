#include <stdbool.h>

/* Installs the filter for this process and all that it will start; returns whether it could. `internet`
 * allows sockets of TCP and UDP. */
bool installSystemCallFilter(bool internet);

/* Returns the filter as a libseccomp context, which the caller releases; NULL when it cannot be built. */
void *buildSystemCallFilter(bool internet);
