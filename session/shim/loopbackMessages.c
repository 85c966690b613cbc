/* Messages with addresses: what UDP sends and receives. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>

#include "loopbackNames.h"
#include "originals.h"

enum {
  MAX_DATAGRAM = 65507,
  /* A Unix socket queues few datagrams. A receiver gets this long to make room, then loses one. */
  ROOM_TRIES = 20,
  ROOM_NS = 50000,
  /* A receiver that lost one may not be reading at all: for this long, the sender does not wait for it. */
  IMPATIENT_MS = 20,
};

static int fail(int error) {
  errno = error;
  return -1;
}

static long nowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t lengthOf(const struct msghdr *message) {
  size_t length = 0;
  for (size_t i = 0; i < message->msg_iovlen; i++) length += message->msg_iov[i].iov_len;
  return length;
}

/* Sends without waiting for long, and drops what finds no room, as UDP does. */
static ssize_t sendDatagram(int fd, struct loopback *socket, const struct msghdr *message, int flags) {
  const struct timespec pause = {.tv_nsec = ROOM_NS};
  int tries = nowMs() - socket->lastLossMs < IMPATIENT_MS ? 0 : ROOM_TRIES;
  for (int i = 0;; i++) {
    ssize_t sent = originalSend(fd, message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != EAGAIN) return sent;
    if (i >= tries) break;
    nanosleep(&pause, NULL);
  }
  socket->lastLossMs = nowMs();
  return (ssize_t)lengthOf(message);
}

static bool isAbsent(int error) { return error == ENOENT || error == ECONNREFUSED; }

/* UDP reports no missing receiver to a sender that is not connected, nor one that receives from another. */
static ssize_t sendTo(int fd, struct loopback *socket, struct msghdr message, int flags) {
  struct endpoint target, candidates[MAX_CANDIDATES];
  if (!readEndpoint(message.msg_name, message.msg_namelen, socket->family, &target)) return -1;
  if (!isLocal(&target)) return refuseRemote(&target);
  int count = findCandidates(&target, candidates);
  for (int i = 0; i < count; i++) {
    struct sockaddr_un name = nameOf(&candidates[i], SOCK_DGRAM);
    message.msg_name = &name;
    message.msg_namelen = sizeof name;
    ssize_t sent = sendDatagram(fd, socket, &message, flags);
    if (sent >= 0 || (!isAbsent(errno) && errno != EPERM)) return sent;
  }
  return (ssize_t)lengthOf(&message);
}

/* The peer may have appeared, or another may have its address by now. */
static ssize_t sendToPeer(int fd, struct loopback *socket, const struct msghdr *message, int flags) {
  ssize_t sent = sendDatagram(fd, socket, message, flags);
  if (sent >= 0 || (errno != ENOTCONN && !isAbsent(errno))) return sent;
  if (reconnectDatagrams(fd, socket) == 0) return sendDatagram(fd, socket, message, flags);
  return errno == EPERM ? (ssize_t)lengthOf(message) : -1;
}

ssize_t sendLoopback(int fd, struct loopback *socket, const struct msghdr *message, int flags) {
  struct msghdr plain = *message;
  /* Only Unix sockets have control messages that would have an effect: they pass descriptors. */
  plain.msg_control = NULL;
  plain.msg_controllen = 0;
  if (socket->type == SOCK_STREAM) {
    plain.msg_name = NULL;
    plain.msg_namelen = 0;
    return originalSend(fd, &plain, flags & ~MSG_FASTOPEN);
  }
  if (lengthOf(message) > MAX_DATAGRAM) return fail(EMSGSIZE);
  if (bindIfUnbound(fd, socket, NULL) != 0) return -1;
  return message->msg_name ? sendTo(fd, socket, plain, flags) : sendToPeer(fd, socket, &plain, flags);
}

ssize_t receiveLoopback(int fd, struct loopback *socket, struct msghdr *message, int flags) {
  struct sockaddr_un name;
  struct msghdr translated = *message;
  if (flags & MSG_ERRQUEUE) return fail(EAGAIN); /* a Unix socket would return a message */
  translated.msg_name = &name;
  translated.msg_namelen = sizeof name;
  ssize_t count = originalReceive(fd, &translated, flags);
  if (count < 0) return -1;
  message->msg_controllen = translated.msg_controllen;
  message->msg_flags = translated.msg_flags;
  struct endpoint sender = wildcardAt(socket->family, 0);
  readName(&name, translated.msg_namelen, &sender);
  sender = asLoopback(&sender, socket->family == AF_INET || isIPv4(&sender));
  if (socket->type == SOCK_STREAM)
    message->msg_namelen = 0;
  else if (message->msg_name)
    writeEndpoint(&sender, socket->family, message->msg_name, &message->msg_namelen);
  return count;
}
