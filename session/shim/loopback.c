#define _GNU_SOURCE
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "loopbackNames.h"
#include "originals.h"

/*
 * A mark that the kernel keeps with the socket, so that a program recognizes an emulated socket that it
 * inherited or was sent. Pacing means nothing for Unix sockets, and nobody asks for these rates. libpulse
 * sets the priority of its sockets, so that would not do.
 */
enum { MARK_V4 = 0x6a6f7904, MARK_V6 = 0x6a6f7906 };

enum { MIN_BACKLOG = 128, BACKLOG_TRIES = 200, RETRY_NS = 1000000 };

_Static_assert(sizeof(struct loopback) <= STATE_BYTES, "the state fits into the table of descriptors");

static int fail(int error) {
  errno = error;
  return -1;
}

bool isLoopbackKind(int family, int type, int protocol) {
  int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (family != AF_INET && family != AF_INET6) return false;
  return (kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
         (kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
}

static bool adopt(int fd, int family, int type) {
  struct loopback state = {.family = (uint16_t)family, .type = (uint16_t)type};
  int mark = family == AF_INET ? MARK_V4 : MARK_V6;
  rememberDescriptor(fd, LOOPBACK, &state, sizeof state);
  return originalSetOption(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &mark, sizeof mark) == 0;
}

int openLoopback(int family, int type) {
  int fd = originalSocket(AF_UNIX, type, 0);
  if (fd < 0 || adopt(fd, family, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))) return fd;
  close(fd);
  return fail(EAFNOSUPPORT);
}

static int optionOf(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return originalGetOption(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

struct loopback *loopbackOf(int fd) {
  struct loopback *state = stateOf(fd, LOOPBACK);
  if (state) return state;
  int before = errno, mark = optionOf(fd, SO_MAX_PACING_RATE);
  bool isMarked = (mark == MARK_V4 || mark == MARK_V6) && optionOf(fd, SO_DOMAIN) == AF_UNIX;
  if (isMarked) adopt(fd, mark == MARK_V4 ? AF_INET : AF_INET6, optionOf(fd, SO_TYPE));
  errno = before;
  return isMarked ? stateOf(fd, LOOPBACK) : NULL;
}

struct loopback *connectedDatagrams(int fd) {
  struct loopback *state = stateOf(fd, LOOPBACK);
  return state && state->type == SOCK_DGRAM && state->hasPeer ? state : NULL;
}

int bindLoopback(int fd, struct loopback *socket, const struct sockaddr *address, socklen_t length) {
  struct endpoint endpoint, own;
  if (!readEndpoint(address, length, socket->family, &endpoint)) return -1;
  if (readOwnName(fd, &own)) return fail(EINVAL);
  if (!isLocal(&endpoint) && !(socket->type == SOCK_DGRAM && isMulticast(&endpoint)))
    return fail(EADDRNOTAVAIL);
  endpoint.onlyV6 = socket->onlyV6 && isWildcard(&endpoint) && !isIPv4(&endpoint);
  return bindName(fd, socket, &endpoint);
}

/* Connects to the first candidate that exists. Returns -1 with ECONNREFUSED if none does. */
static int connectToAny(int fd, const struct endpoint *peer, int type) {
  struct endpoint candidates[MAX_CANDIDATES];
  int count = findCandidates(peer, candidates);
  for (int i = 0; i < count; i++) {
    struct sockaddr_un name = nameOf(&candidates[i], type);
    if (originalConnect(fd, (struct sockaddr *)&name, sizeof name) == 0) return 0;
    if (errno != ENOENT && errno != ECONNREFUSED) return -1;
  }
  return fail(ECONNREFUSED);
}

/* A Unix socket that does not block cannot wait for room in the backlog, and nothing reports the room. */
static int connectStream(int fd, const struct endpoint *peer) {
  const struct timespec pause = {.tv_nsec = RETRY_NS};
  int result = connectToAny(fd, peer, SOCK_STREAM);
  for (int i = 0; result < 0 && errno == EAGAIN && i < BACKLOG_TRIES; i++) {
    nanosleep(&pause, NULL);
    result = connectToAny(fd, peer, SOCK_STREAM);
  }
  return result < 0 && errno == EAGAIN ? fail(ETIMEDOUT) : result;
}

int reconnectDatagrams(int fd, const struct loopback *socket) {
  return connectToAny(fd, &socket->peer, SOCK_DGRAM);
}

/*
 * A Unix socket connects at once. TCP that does not block never does, and some programs (Mono) wait for the
 * socket to become writable in any case. Setting the size of the buffer reports that again to those that
 * registered the socket with edge-triggered epoll before it was connected.
 */
static int reportProgress(int fd) {
  int size = optionOf(fd, SO_SNDBUF) / 2; /* the kernel doubles what is set */
  originalSetOption(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return fail(EINPROGRESS);
}

int connectLoopback(int fd, struct loopback *socket, const struct sockaddr *address, socklen_t length) {
  struct endpoint peer;
  if (address && length >= sizeof address->sa_family && address->sa_family == AF_UNSPEC) {
    socket->hasPeer = false;
    return socket->type == SOCK_DGRAM ? originalConnect(fd, address, length) : 0;
  }
  if (!readEndpoint(address, length, socket->family, &peer)) return -1;
  if (!isLocal(&peer)) return refuseRemote(&peer);
  peer = asLoopback(&peer, isIPv4(&peer));
  if (bindIfUnbound(fd, socket, &peer) != 0) return -1;
  if (socket->type == SOCK_STREAM) {
    if (connectStream(fd, &peer) != 0) return -1;
  } else {
    /* UDP connects without a peer. One that is connected elsewhere drops what it gets. */
    socket->peer = peer;
    if (reconnectDatagrams(fd, socket) != 0 && errno != ECONNREFUSED && errno != EPERM) return -1;
  }
  socket->peer = peer;
  socket->hasPeer = true;
  bool isBlocking = !(fcntl(fd, F_GETFL) & O_NONBLOCK);
  return isBlocking || socket->type == SOCK_DGRAM ? 0 : reportProgress(fd);
}

int listenLoopback(int fd, struct loopback *socket, int backlog) {
  if (socket->type != SOCK_STREAM) return fail(EOPNOTSUPP);
  if (bindIfUnbound(fd, socket, NULL) != 0) return -1;
  return originalListen(fd, backlog < MIN_BACKLOG ? MIN_BACKLOG : backlog);
}

static void copyAddress(const struct endpoint *endpoint, int family, struct sockaddr *address,
                        socklen_t *length) {
  if (address && length) writeEndpoint(endpoint, family, address, length);
}

/* Returns the endpoint of a peer. A wildcard is where the peer listens, not where it is reached. */
static struct endpoint endpointOf(const struct sockaddr_un *name, socklen_t length, int family) {
  struct endpoint endpoint = wildcardAt(family, 0);
  readName(name, length, &endpoint);
  endpoint = asLoopback(&endpoint, family == AF_INET || isIPv4(&endpoint));
  return endpoint;
}

int acceptLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length, int flags) {
  struct sockaddr_un name;
  socklen_t size = sizeof name;
  int accepted = originalAccept(fd, (struct sockaddr *)&name, &size, flags);
  if (accepted < 0) return -1;
  adopt(accepted, socket->family, SOCK_STREAM);
  struct endpoint peer = endpointOf(&name, size, socket->family);
  copyAddress(&peer, socket->family, address, length);
  return accepted;
}

int nameLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length) {
  struct endpoint own = wildcardAt(socket->family, 0);
  struct sockaddr_un peer;
  socklen_t size = sizeof peer;
  readOwnName(fd, &own);
  /* A connection has the address at which the client reached a server that listens on a wildcard. */
  if (isWildcard(&own) && socket->hasPeer) {
    own = asLoopback(&own, isIPv4(&socket->peer));
  } else if (isWildcard(&own) && own.port != 0 && originalPeer(fd, (struct sockaddr *)&peer, &size) == 0) {
    struct endpoint other = endpointOf(&peer, size, socket->family);
    own = asLoopback(&own, isIPv4(&other));
  }
  copyAddress(&own, socket->family, address, length);
  return 0;
}

int peerOfLoopback(int fd, struct loopback *socket, struct sockaddr *address, socklen_t *length) {
  struct sockaddr_un name;
  socklen_t size = sizeof name;
  bool isConnected = originalPeer(fd, (struct sockaddr *)&name, &size) == 0;
  bool isPending = socket->type == SOCK_DGRAM && socket->hasPeer;
  if (!isConnected && !isPending) return -1;
  struct endpoint peer = socket->hasPeer ? socket->peer : endpointOf(&name, size, socket->family);
  copyAddress(&peer, socket->family, address, length);
  return 0;
}
