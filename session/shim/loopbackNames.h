/* Gives Unix sockets of the loopback emulation their names, which are files in its folder. */
#pragma once
#include "loopback.h"

/* Reads a socket's own name. Returns false if it has none. */
bool readOwnName(int fd, struct endpoint *endpoint);

/* Names a socket after an endpoint; port 0 chooses an unused one. Returns -1 with errno. */
int bindName(int fd, struct loopback *socket, const struct endpoint *endpoint);

/* Names a socket that has no name yet, as the kernel does before it connects, listens or sends. `peer` is the
 * end of a connection, or NULL. */
int bindIfUnbound(int fd, struct loopback *socket, const struct endpoint *peer);

/* Connects a UDP socket to its peer. Returns -1 with ECONNREFUSED if the peer does not exist. */
int reconnectDatagrams(int fd, const struct loopback *socket);
