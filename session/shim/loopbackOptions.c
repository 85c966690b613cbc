/* Options of emulated sockets. Those of IP, TCP and UDP that concern only the wire succeed without effect. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>

#include "loopback.h"
#include "originals.h"

enum { DEFAULT_TTL = 64, SEGMENT_BYTES = 32741 };

static int fail(int error) {
  errno = error;
  return -1;
}

static bool readFlag(const void *value, socklen_t length) {
  int number = 0;
  memcpy(&number, value, length < sizeof number ? length : sizeof number);
  return number != 0;
}

static int setGeneralOption(int fd, struct loopback *socket, int option, const void *value,
                            socklen_t length) {
  switch (option) {
  case SO_REUSEADDR:
    socket->canShareAddress = readFlag(value, length);
    return originalSetOption(fd, SOL_SOCKET, option, value, length);
  case SO_REUSEPORT: /* new kernels refuse it on Unix sockets */
    socket->canShareAddress |= readFlag(value, length);
    return 0;
  case SO_MAX_PACING_RATE: /* the mark */
  case SO_NO_CHECK:
    return 0;
  case SO_PASSCRED:
  case SO_PASSSEC:
    return fail(ENOPROTOOPT);
  default:
    return originalSetOption(fd, SOL_SOCKET, option, value, length);
  }
}

int setLoopbackOption(int fd, struct loopback *socket, int level, int option, const void *value,
                      socklen_t length) {
  if (level == SOL_SOCKET) return setGeneralOption(fd, socket, option, value, length);
  if (length > 0 && !value) return fail(EFAULT);
  if (level == IPPROTO_TCP && socket->type == SOCK_STREAM) {
    /* Data that goes with the connection request would be lost. */
    if (option == TCP_FASTOPEN || option == TCP_FASTOPEN_CONNECT || option == TCP_ULP)
      return fail(ENOPROTOOPT);
    if (option == TCP_NODELAY) socket->hasNoDelay = readFlag(value, length);
    return 0;
  }
  /* Offloads would join datagrams. */
  if (level == IPPROTO_UDP) return fail(ENOPROTOOPT);
  if (level == IPPROTO_IPV6 && socket->family == AF_INET6) {
    if (option == IPV6_V6ONLY) socket->onlyV6 = readFlag(value, length);
    return 0;
  }
  return level == IPPROTO_IP ? 0 : fail(ENOPROTOOPT);
}

/* Copies a value as the kernel does: as much as there is room for. */
static int answer(const void *from, socklen_t size, void *value, socklen_t *length) {
  if (*length > size) *length = size;
  memcpy(value, from, *length);
  return 0;
}

static int answerNumber(int number, void *value, socklen_t *length) {
  return answer(&number, sizeof number, value, length);
}

static int getTcpOption(int fd, const struct loopback *socket, int option, void *value, socklen_t *length) {
  struct tcp_info info = {.tcpi_state = TCP_CLOSE};
  struct sockaddr_un peer;
  socklen_t size = sizeof peer;
  switch (option) {
  case TCP_NODELAY:
    return answerNumber(socket->hasNoDelay, value, length);
  case TCP_MAXSEG:
    return answerNumber(SEGMENT_BYTES, value, length);
  case TCP_INFO:
    if (originalPeer(fd, (struct sockaddr *)&peer, &size) == 0) info.tcpi_state = TCP_ESTABLISHED;
    return answer(&info, sizeof info, value, length);
  default:
    return answerNumber(0, value, length);
  }
}

static int getGeneralOption(int fd, const struct loopback *socket, int option, void *value,
                            socklen_t *length) {
  switch (option) {
  case SO_DOMAIN:
    return answerNumber(socket->family, value, length);
  case SO_PROTOCOL:
    return answerNumber(socket->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP, value, length);
  case SO_REUSEPORT:
    return answerNumber(socket->canShareAddress, value, length);
  case SO_MAX_PACING_RATE:
    return answerNumber(-1, value, length);
  case SO_PEERCRED: /* an IP socket has no credentials */
    return fail(ENOPROTOOPT);
  default:
    return originalGetOption(fd, SOL_SOCKET, option, value, length);
  }
}

int getLoopbackOption(int fd, struct loopback *socket, int level, int option, void *value,
                      socklen_t *length) {
  if (!value || !length) return fail(EFAULT);
  if (level == SOL_SOCKET) return getGeneralOption(fd, socket, option, value, length);
  if (level == IPPROTO_TCP && socket->type == SOCK_STREAM)
    return getTcpOption(fd, socket, option, value, length);
  if (level == IPPROTO_IPV6 && socket->family == AF_INET6) {
    int hops = option == IPV6_UNICAST_HOPS ? DEFAULT_TTL : 0;
    return answerNumber(option == IPV6_V6ONLY ? socket->onlyV6 : hops, value, length);
  }
  if (level == IPPROTO_IP) return answerNumber(option == IP_TTL ? DEFAULT_TTL : 0, value, length);
  return fail(ENOPROTOOPT);
}
