/*
 * Addresses of emulated TCP and UDP sockets. Each address of a socket is a Unix socket in the session's
 * folder, named after its protocol, IP address and port.
 */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct endpoint {
  struct in6_addr address; /* IPv4 addresses are mapped to IPv6 */
  uint16_t port;           /* in the machine's byte order */
  bool onlyV6;             /* of :: that receives no IPv4 */
};

/* An endpoint's addresses as others reach it, at most: its own, the two wildcards. */
enum { MAX_CANDIDATES = 3 };

/* Reads an address for a socket of this family. Returns false with errno. */
bool readEndpoint(const struct sockaddr *address, socklen_t length, int family, struct endpoint *endpoint);

/* Writes an address as the kernel does: cut off where the room ends, with its whole length. */
void writeEndpoint(const struct endpoint *endpoint, int family, struct sockaddr *address, socklen_t *length);

/* Reads the name of a Unix socket. Returns false if it is not an emulated socket's. */
bool readName(const struct sockaddr_un *name, socklen_t length, struct endpoint *endpoint);

/* Returns the name of the Unix socket for an endpoint. Type is SOCK_STREAM or SOCK_DGRAM. */
struct sockaddr_un nameOf(const struct endpoint *endpoint, int type);

/* Writes the endpoints at which a socket can listen that receives what is sent to this one. Returns their
 * number. */
int findCandidates(const struct endpoint *target, struct endpoint candidates[MAX_CANDIDATES]);

bool isIPv4(const struct endpoint *endpoint);
bool isWildcard(const struct endpoint *endpoint);
bool isMulticast(const struct endpoint *endpoint);

/* Returns whether an address is this machine's: loopback, a wildcard, or an interface's IPv4 address. */
bool isLocal(const struct endpoint *endpoint);

/* Notes that a program tried to reach this address, which is not local. Returns -1 with ENETUNREACH. */
int refuseRemote(const struct endpoint *endpoint);

/* Returns the loopback address with the endpoint's port, if it is a wildcard; otherwise the endpoint. */
struct endpoint asLoopback(const struct endpoint *endpoint, bool isV4);

/* Returns the wildcard of this family at a port. */
struct endpoint wildcardAt(int family, uint16_t port);

/* Returns the session's folder of sockets. */
const char *loopbackFolder(void);
