#include <stdbool.h>

/* Whether this process and all that it will ever start are held to the filter from now on. `internet`: with sockets of TCP and UDP. */
bool installSystemCallFilter(bool internet);

/* The filter as a libseccomp context, which the caller releases; NULL when it cannot be built. */
void *buildSystemCallFilter(bool internet);
