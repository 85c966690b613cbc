#define _GNU_SOURCE
#include "loopbackNames.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "originals.h"

/* As the kernel's net.ipv4.ip_local_port_range. */
enum { FIRST_PORT = 32768, PORTS = 28232 };

static _Atomic unsigned portsUsed;

static int fail(int error) {
  errno = error;
  return -1;
}

bool readOwnName(int fd, struct endpoint *endpoint) {
  struct sockaddr_un name;
  socklen_t size = sizeof name;
  return originalName(fd, (struct sockaddr *)&name, &size) == 0 && readName(&name, size, endpoint);
}

/* Sets out from a place that differs between processes, and uses each port once before it repeats. */
static uint16_t nextPort(void) {
  unsigned start = (unsigned)getpid() * 2654435761u % PORTS;
  return (uint16_t)(FIRST_PORT + (start + atomic_fetch_add(&portsUsed, 1)) % PORTS);
}

/*
 * Returns whether a socket has this name. Connecting with another type of socket fails with EPROTOTYPE if so,
 * without any effect on that socket.
 */
static bool isNameInUse(const struct sockaddr_un *name) {
  int probe = originalSocket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  bool isInUse =
      originalConnect(probe, (const struct sockaddr *)name, sizeof *name) != 0 && errno == EPROTOTYPE;
  close(probe);
  return isInUse;
}

/* Serializes processes that replace names of closed sockets. Returns a descriptor to close. */
static int lockFolder(void) {
  const char *path = loopbackFolder();
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == ENOENT && (mkdir(path, 0700) == 0 || errno == EEXIST))
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0 && flock(folder, LOCK_EX) != 0 && errno == EINTR) {
  }
  return folder;
}

/*
 * The name stays in the folder when its socket is closed, and is replaced then. UDP sockets may share an
 * address; the last one receives. A client's name is only for its server, which learns it on connecting, and
 * is removed at once.
 */
static int bindInFolder(int fd, const struct loopback *socket, const struct endpoint *endpoint,
                        bool isClient) {
  struct sockaddr_un name = nameOf(endpoint, socket->type);
  bool canReplace = socket->type == SOCK_DGRAM && socket->canShareAddress;
  if (originalBind(fd, (struct sockaddr *)&name, sizeof name) != 0) {
    if (errno != EADDRINUSE) return -1;
    if (!canReplace && isNameInUse(&name)) return fail(EADDRINUSE);
    unlink(name.sun_path);
    if (originalBind(fd, (struct sockaddr *)&name, sizeof name) != 0) return -1;
  }
  if (isClient) unlink(name.sun_path);
  return 0;
}

/* Returns whether another socket receives for this wildcard: :: also receives IPv4 unless told otherwise. */
static bool hasConflict(const struct endpoint *endpoint, const struct loopback *socket) {
  if (!isWildcard(endpoint) || (socket->type == SOCK_DGRAM && socket->canShareAddress)) return false;
  struct endpoint other = wildcardAt(isIPv4(endpoint) ? AF_INET6 : AF_INET, endpoint->port);
  if (endpoint->onlyV6) other = wildcardAt(AF_INET6, endpoint->port);
  struct sockaddr_un name = nameOf(&other, socket->type);
  return access(name.sun_path, F_OK) == 0 && isNameInUse(&name);
}

static int bindOne(int fd, const struct loopback *socket, const struct endpoint *endpoint, bool isClient) {
  if (!isClient && hasConflict(endpoint, socket)) return fail(EADDRINUSE);
  return bindInFolder(fd, socket, endpoint, isClient);
}

static int bindLocked(int fd, const struct loopback *socket, struct endpoint endpoint, bool isClient) {
  if (endpoint.port != 0) return bindOne(fd, socket, &endpoint, isClient);
  struct loopback unshared = *socket;
  unshared.canShareAddress = false;
  for (int i = 0; i < PORTS; i++) {
    endpoint.port = nextPort();
    if (bindOne(fd, &unshared, &endpoint, isClient) == 0) return 0;
    if (errno != EADDRINUSE) return -1;
  }
  return fail(EADDRINUSE);
}

static int bindEndpoint(int fd, const struct loopback *socket, const struct endpoint *endpoint,
                        bool isClient) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); /* a handler that binds would wait for the lock forever */
  int folder = lockFolder(), result = -1, error = ENOBUFS;
  if (folder >= 0) {
    result = bindLocked(fd, socket, *endpoint, isClient);
    error = errno;
    flock(folder, LOCK_UN); /* a child forked in the meantime has the descriptor, too */
    close(folder);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  /* The temporary folder is full. */
  errno = error == ENOSPC ? ENOBUFS : error;
  return result;
}

int bindName(int fd, struct loopback *socket, const struct endpoint *endpoint) {
  return bindEndpoint(fd, socket, endpoint, false);
}

int bindIfUnbound(int fd, struct loopback *socket, const struct endpoint *peer) {
  struct endpoint own;
  if (readOwnName(fd, &own)) return 0;
  if (peer && socket->type == SOCK_STREAM) {
    own = wildcardAt(isIPv4(peer) ? AF_INET : AF_INET6, 0);
    own = asLoopback(&own, isIPv4(peer));
    return bindEndpoint(fd, socket, &own, true);
  }
  own = wildcardAt(socket->family, 0);
  own.onlyV6 = socket->onlyV6;
  return bindEndpoint(fd, socket, &own, false);
}
