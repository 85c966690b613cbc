/* Tries every way to open a socket: to each address in targets.txt, of each kind, and with other system
 * calls. */
#define _GNU_SOURCE
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  CONNECT_MS = 2000,
  I386_SOCKETCALL = 102,
  I386_SOCKET = 359, /* numbers of the 32-bit system call table */
  SOCKETCALL_SOCKET = 1,
  X32_BIT = 0x40000000,
};

/* Parses HOST:PORT with an IPv4 address. */
static struct sockaddr_in addressOf(const char *target) {
  char host[64];
  const char *colon = strrchr(target, ':');
  size_t length = colon ? (size_t)(colon - target) : strlen(target);
  snprintf(host, sizeof host, "%.*s", (int)length, target);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)(colon ? atoi(colon + 1) : 0))};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) address.sin_family = AF_UNSPEC;
  return address;
}

/* Asks the kernel: the C library's function may be answered by the preloaded library, which never opens a
 * socket of these kinds. */
static int openSocket(int family, int type, int protocol) {
  return (int)syscall(SYS_socket, family, type, protocol);
}

static long connectTcp(const char *target) {
  struct sockaddr_in address = addressOf(target);
  int s = openSocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -1;
  if (connect(s, (struct sockaddr *)&address, sizeof address) == 0) return 0;
  struct pollfd wait = {.fd = s, .events = POLLOUT};
  if (errno != EINPROGRESS || poll(&wait, 1, CONNECT_MS) < 0) return -1;
  int code = wait.revents == 0 ? ETIMEDOUT : 0;
  socklen_t size = sizeof code;
  if (code == 0) getsockopt(s, SOL_SOCKET, SO_ERROR, &code, &size);
  errno = code;
  return code == 0 ? 0 : -1;
}

static long sendUdp(const char *target) {
  struct sockaddr_in address = addressOf(target);
  int s = openSocket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : sendto(s, "x", 1, 0, (struct sockaddr *)&address, sizeof address);
}

static void tryTargets(void) {
  char path[512], line[128], name[160];
  snprintf(path, sizeof path, "%s/targets.txt", environmentOr("ENGINE_DIR", "."));
  FILE *targets = fopen(path, "re");
  if (!targets) printResult("targets", "none: %s", codeName(errno));
  while (targets && fgets(line, sizeof line, targets)) {
    line[strcspn(line, "\n")] = 0;
    if (*line == 0) continue;
    snprintf(name, sizeof name, "tcp %s", line);
    tryInChild(name, connectTcp, line);
    snprintf(name, sizeof name, "udp %s", line);
    tryInChild(name, sendUdp, line);
  }
  if (targets) fclose(targets);
}

struct kind {
  const char *name;
  int domain, type, protocol;
};

static const struct kind kinds[] = {
    {"inet stream", AF_INET, SOCK_STREAM, 0},
    {"inet6 stream", AF_INET6, SOCK_STREAM, 0},
    {"inet6 datagram", AF_INET6, SOCK_DGRAM, 0},
    {"inet raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
    {"inet ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
    {"inet mptcp", AF_INET, SOCK_STREAM, 262},
    {"netlink", AF_NETLINK, SOCK_RAW, 0},
    {"packet", AF_PACKET, SOCK_RAW, 0x0300},
    {"vsock", AF_VSOCK, SOCK_STREAM, 0},
    {"alg", AF_ALG, SOCK_SEQPACKET, 0},
    {"unspecified", AF_UNSPEC, SOCK_STREAM, 0},
};

static long openKind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0)
      return openSocket(kinds[i].domain, kinds[i].type, kinds[i].protocol);
  errno = EINVAL;
  return -1;
}

static long openPair(const char *name) {
  int pair[2];
  return socketpair(strcmp(name, "unix") == 0 ? AF_UNIX : AF_INET, SOCK_STREAM, 0, pair);
}

static long setUpRing(const char *unused) {
  (void)unused;
  struct io_uring_params parameters = {0};
  return syscall(SYS_io_uring_setup, 1, &parameters);
}

#ifdef __x86_64__
/* Makes a system call of the 32-bit table, which a filter for only the 64-bit table does not see. Returns
 * like syscall(). */
static long int80(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c)
                   : "memory", "r8", "r9", "r10", "r11");
  if ((int)result >= 0) return (int)result;
  errno = -(int)result;
  return -1;
}

static long socketcall32(const char *unused) {
  (void)unused;
  uint32_t *arguments =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (arguments == MAP_FAILED) return -1;
  arguments[0] = AF_INET;
  arguments[1] = SOCK_STREAM;
  arguments[2] = 0;
  return int80(I386_SOCKETCALL, SOCKETCALL_SOCKET, (long)(uintptr_t)arguments, 0);
}

static long socket32(const char *unused) {
  (void)unused;
  return int80(I386_SOCKET, AF_INET, SOCK_STREAM, 0);
}
static long socketX32(const char *unused) {
  (void)unused;
  return syscall(X32_BIT | SYS_socket, AF_INET, SOCK_STREAM, 0);
}
#endif

void actSockets(void) {
  tryTargets();
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    tryInChild(kinds[i].name, openKind, kinds[i].name);
  tryInChild("inet pair", openPair, "inet");
  tryInChild("io_uring", setUpRing, NULL);
#ifdef __x86_64__
  tryInChild("i386 socketcall", socketcall32, NULL);
  tryInChild("i386 socket", socket32, NULL);
  tryInChild("x32 socket", socketX32, NULL);
#endif
  tryInChild("unix pair", openPair, "unix"); /* the only kind that a game needs, for display and sound */
}
