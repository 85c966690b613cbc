/* The socket calls. Each goes to the C library unless the socket is emulated. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "deviceEvents.h"
#include "loopback.h"
#include "next.h"
#include "observations.h"
#include "originals.h"

/* What programs call that were compiled with _FORTIFY_SOURCE. */
ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags, struct sockaddr *address,
                       socklen_t *length);

OVERRIDES(socket)
OVERRIDES(bind)
OVERRIDES(connect)
OVERRIDES(listen)
OVERRIDES(accept)
OVERRIDES(accept4)
OVERRIDES(getsockname)
OVERRIDES(getpeername)
OVERRIDES(setsockopt)
OVERRIDES(getsockopt)
OVERRIDES(sendmsg)
OVERRIDES(recvmsg)
OVERRIDES(send)
OVERRIDES(sendto)
OVERRIDES(recvfrom)
OVERRIDES(sendmmsg)
OVERRIDES(recvmmsg)
OVERRIDES(__recvfrom_chk)

int originalSocket(int family, int type, int protocol) { return NEXT(socket)(family, type, protocol); }
int originalBind(int fd, const struct sockaddr *address, socklen_t length) {
  return NEXT(bind)(fd, address, length);
}
int originalConnect(int fd, const struct sockaddr *address, socklen_t length) {
  return NEXT(connect)(fd, address, length);
}
int originalListen(int fd, int backlog) { return NEXT(listen)(fd, backlog); }
int originalAccept(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  return NEXT(accept4)(fd, address, length, flags);
}
int originalName(int fd, struct sockaddr *address, socklen_t *length) {
  return NEXT(getsockname)(fd, address, length);
}
int originalPeer(int fd, struct sockaddr *address, socklen_t *length) {
  return NEXT(getpeername)(fd, address, length);
}
int originalSetOption(int fd, int level, int option, const void *value, socklen_t length) {
  return NEXT(setsockopt)(fd, level, option, value, length);
}
int originalGetOption(int fd, int level, int option, void *value, socklen_t *length) {
  return NEXT(getsockopt)(fd, level, option, value, length);
}
ssize_t originalSend(int fd, const struct msghdr *message, int flags) {
  return NEXT(sendmsg)(fd, message, flags);
}
ssize_t originalReceive(int fd, struct msghdr *message, int flags) {
  return NEXT(recvmsg)(fd, message, flags);
}

/* With network, the kernel opens TCP and UDP sockets, and nothing is emulated. */
OVERRIDE int socket(int family, int type, int protocol) {
  int fd = NEXT(socket)(family, type, protocol);
  if (fd >= 0 || errno != EAFNOSUPPORT) return fd;
  if (isDeviceEventKind(family, protocol)) return openDeviceEvents(type);
  if (isLoopbackKind(family, type, protocol)) {
    observe("loopback", (type & SOCK_DGRAM) ? "UDP" : "TCP");
    return openLoopback(family, type);
  }
  char kind[64];
  snprintf(kind, sizeof kind, "family %d, type %d, protocol %d", family, type & 15, protocol);
  observe("socket", kind);
  errno = EAFNOSUPPORT;
  return -1;
}

OVERRIDE int bind(int fd, const struct sockaddr *address, socklen_t length) {
  if (isDeviceEvents(fd)) return bindDeviceEvents(fd, address, length);
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? bindLoopback(fd, emulated, address, length) : NEXT(bind)(fd, address, length);
}

OVERRIDE int connect(int fd, const struct sockaddr *address, socklen_t length) {
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? connectLoopback(fd, emulated, address, length) : NEXT(connect)(fd, address, length);
}

OVERRIDE int listen(int fd, int backlog) {
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? listenLoopback(fd, emulated, backlog) : NEXT(listen)(fd, backlog);
}

OVERRIDE int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? acceptLoopback(fd, emulated, address, length, flags)
                  : NEXT(accept4)(fd, address, length, flags);
}

OVERRIDE int accept(int fd, struct sockaddr *address, socklen_t *length) {
  return accept4(fd, address, length, 0);
}

OVERRIDE int getsockname(int fd, struct sockaddr *address, socklen_t *length) {
  if (isDeviceEvents(fd)) return nameDeviceEvents(fd, address, length);
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? nameLoopback(fd, emulated, address, length) : NEXT(getsockname)(fd, address, length);
}

OVERRIDE int getpeername(int fd, struct sockaddr *address, socklen_t *length) {
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? peerOfLoopback(fd, emulated, address, length) : NEXT(getpeername)(fd, address, length);
}

OVERRIDE int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
  if (isDeviceEvents(fd)) return setDeviceEventsOption(fd, level, option, value, length);
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? setLoopbackOption(fd, emulated, level, option, value, length)
                  : NEXT(setsockopt)(fd, level, option, value, length);
}

OVERRIDE int getsockopt(int fd, int level, int option, void *value, socklen_t *length) {
  struct loopback *emulated = loopbackOf(fd);
  return emulated ? getLoopbackOption(fd, emulated, level, option, value, length)
                  : NEXT(getsockopt)(fd, level, option, value, length);
}

/* Returns the state of an emulated socket if a message to this address has to be translated, or NULL. */
static struct loopback *translatedFor(int fd, const void *address) {
  return address ? loopbackOf(fd) : connectedDatagrams(fd);
}

OVERRIDE ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  struct loopback *emulated = translatedFor(fd, message->msg_name);
  return emulated ? sendLoopback(fd, emulated, message, flags) : NEXT(sendmsg)(fd, message, flags);
}

OVERRIDE ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *address,
                        socklen_t length) {
  struct loopback *emulated = translatedFor(fd, address);
  if (!emulated) return NEXT(sendto)(fd, bytes, size, flags, address, length);
  struct iovec part = {(void *)bytes, size};
  struct msghdr message = {
      .msg_name = (void *)address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
  return sendLoopback(fd, emulated, &message, flags);
}

OVERRIDE ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  return connectedDatagrams(fd) ? sendto(fd, bytes, size, flags, NULL, 0)
                                : NEXT(send)(fd, bytes, size, flags);
}

OVERRIDE ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  struct loopback *emulated = message->msg_name || flags & MSG_ERRQUEUE ? loopbackOf(fd) : NULL;
  return emulated ? receiveLoopback(fd, emulated, message, flags) : NEXT(recvmsg)(fd, message, flags);
}

OVERRIDE ssize_t recvfrom(int fd, void *bytes, size_t size, int flags, struct sockaddr *address,
                          socklen_t *length) {
  struct loopback *emulated = address && length ? loopbackOf(fd) : NULL;
  if (!emulated) return NEXT(recvfrom)(fd, bytes, size, flags, address, length);
  struct iovec part = {bytes, size};
  struct msghdr message = {.msg_name = address, .msg_namelen = *length, .msg_iov = &part, .msg_iovlen = 1};
  ssize_t count = receiveLoopback(fd, emulated, &message, flags);
  if (count >= 0) *length = message.msg_namelen;
  return count;
}

OVERRIDE ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                                struct sockaddr *address, socklen_t *length) {
  return size > room ? NEXT(__recvfrom_chk)(fd, bytes, size, room, flags, address, length)
                     : recvfrom(fd, bytes, size, flags, address, length);
}

OVERRIDE int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  if (!loopbackOf(fd)) return NEXT(sendmmsg)(fd, messages, count, flags);
  for (unsigned i = 0; i < count; i++) {
    ssize_t sent = sendmsg(fd, &messages[i].msg_hdr, flags);
    if (sent < 0) return i > 0 ? (int)i : -1;
    messages[i].msg_len = (unsigned)sent;
  }
  return (int)count;
}

/* Waits for the first message only, whatever the time limit: the kernel checks the limit only after a
 * message, too. */
OVERRIDE int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit) {
  if (!loopbackOf(fd)) return NEXT(recvmmsg)(fd, messages, count, flags, limit);
  for (unsigned i = 0; i < count; i++) {
    int waiting = i > 0 && (flags & MSG_WAITFORONE || limit) ? MSG_DONTWAIT : 0;
    ssize_t received = recvmsg(fd, &messages[i].msg_hdr, (flags & ~MSG_WAITFORONE) | waiting);
    if (received < 0) return i > 0 ? (int)i : -1;
    messages[i].msg_len = (unsigned)received;
  }
  return (int)count;
}
