/*
 * TCP and UDP between the programs of a session. The filter refuses IP sockets, and the pod's real loopback
 * interface is also the streamer's. Sockets for 127.0.0.0/8 and ::1 are therefore Unix sockets in a folder
 * that only the game has. The descriptor is a Unix socket from the start, so waiting for it with epoll works
 * whenever it is registered. Other addresses are unreachable.
 *
 * The functions have the arguments and results of the socket calls that they emulate.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "loopbackAddress.h"

/* State of an emulated socket. It is lost in another program after exec, which then has only the family. */
struct loopback {
  uint16_t family;
  uint16_t type;
  bool onlyV6, canShareAddress, hasNoDelay;
  bool hasPeer; /* of connect; a UDP socket can have a peer that does not exist yet */
  struct endpoint peer;
  long lastLossMs; /* when a receiver had no room for a datagram */
};

/* Returns whether socket() with these arguments opens a socket that can be emulated. */
bool isLoopbackKind(int family, int type, int protocol);

int openLoopback(int family, int type);

/* Returns the state, or NULL if the socket is not emulated. */
struct loopback *loopbackOf(int fd);

/* Returns the state of a UDP socket with a peer, or NULL. Takes no system call for most other descriptors. */
struct loopback *connectedDatagrams(int fd);

int bindLoopback(int fd, struct loopback *socket, const struct sockaddr *address, socklen_t length);
int connectLoopback(int fd, struct loopback *socket, const struct sockaddr *address, socklen_t length);
int listenLoopback(int fd, struct loopback *socket, int backlog);
int acceptLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length, int flags);
int nameLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length);
int peerOfLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length);
int setLoopbackOption(int fd, struct loopback *socket, int level, int option, const void *value,
                      socklen_t length);
int getLoopbackOption(int fd, struct loopback *socket, int level, int option, void *value, socklen_t *length);
ssize_t sendLoopback(int fd, struct loopback *socket, const struct msghdr *message, int flags);
ssize_t receiveLoopback(int fd, struct loopback *socket, struct msghdr *message, int flags);
