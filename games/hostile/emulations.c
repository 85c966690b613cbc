/* Tries to get out through what the preloaded library emulates, and to use it up: loopback sockets, file
 * watches and the socket for device events. */
#define _GNU_SOURCE
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_SOCKETS = 5000, DATAGRAMS = 20000, WATCHED_FILES = 10000, STREAMER_PORT = 8080, PASSED_BYTES = 1 };

static int descriptors[MAX_SOCKETS];

static struct sockaddr_in addressAt(const char *host, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

static long connectTo(const char *host, int type, int port) {
  struct sockaddr_in address = addressAt(host, port);
  int s = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : connect(s, (struct sockaddr *)&address, sizeof address);
}

static long connectStream(const char *host) { return connectTo(host, SOCK_STREAM, STREAMER_PORT); }
static long connectDatagram(const char *host) { return connectTo(host, SOCK_DGRAM, STREAMER_PORT); }
static long openRaw(const char *unused) {
  (void)unused;
  return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}
static long openRoutes(const char *unused) {
  (void)unused;
  return socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

static long attachFilter(const char *unused) {
  (void)unused;
  struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, PASSED_BYTES)};
  struct sock_fprog program = {.len = 1, .filter = pass};
  int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
  return s < 0 ? -1 : syscall(SYS_setsockopt, s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static long sendEvent(const char *unused) {
  (void)unused;
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK, .nl_groups = 1};
  int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
  return s < 0 ? -1 : sendto(s, "add@/x", 6, 0, (struct sockaddr *)&kernel, sizeof kernel);
}

/* Prints what the kernel takes an emulated socket for. */
static void printFamily(const char *name, int s) {
  int family = -1;
  socklen_t size = sizeof family;
  if (s >= 0) syscall(SYS_getsockopt, s, SOL_SOCKET, SO_DOMAIN, &family, &size);
  printResult(name, "%s", family == AF_UNIX ? "unix" : s < 0 ? codeName(errno) : "another family");
  if (s >= 0) close(s);
}

static int closeAll(int count) {
  for (int i = 0; i < count; i++) close(descriptors[i]);
  return count;
}

static void printRefusal(const char *name, int count, int error) {
  printResult(name, "%d, %s", count, error ? codeName(error) : "none refused");
}

static void fillWatches(void) {
  char path[512];
  int count = 0;
  while (count < MAX_SOCKETS && (descriptors[count] = inotify_init1(IN_CLOEXEC)) >= 0) count++;
  printRefusal("emulated watch instances", count, count == MAX_SOCKETS ? 0 : errno);
  closeAll(count);
  const char *folder = environmentOr("XDG_RUNTIME_DIR", "/tmp");
  int instance = inotify_init1(IN_CLOEXEC), watches = 0, error = 0;
  for (int i = 0; i < WATCHED_FILES && !error; i++) {
    snprintf(path, sizeof path, "%s/watched-%d", folder, i);
    mkdir(path, 0700);
    if (inotify_add_watch(instance, path, IN_CREATE) < 0)
      error = errno;
    else
      watches++;
  }
  printRefusal("emulated watches", watches, error);
  for (int i = 0; i <= watches; i++) {
    snprintf(path, sizeof path, "%s/watched-%d", folder, i);
    rmdir(path);
  }
  close(instance);
}

static long bindAny(const char *unused) {
  (void)unused;
  struct sockaddr_in any = addressAt("127.0.0.1", 0);
  int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : bind(s, (struct sockaddr *)&any, sizeof any);
}

/* Keeps this act's memory far below the session's. */
static void limitDescriptors(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > MAX_SOCKETS - 1000) limit.rlim_cur = MAX_SOCKETS - 1000;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void fillPorts(void) {
  struct sockaddr_in any = addressAt("127.0.0.1", 0);
  int count = 0, error = 0;
  for (; count < MAX_SOCKETS && !error; count++) {
    descriptors[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptors[count] < 0 || bind(descriptors[count], (struct sockaddr *)&any, sizeof any) != 0)
      error = errno;
  }
  printRefusal("emulated ports", error ? count - 1 : count, error);
  closeAll(count);
  tryInChild("emulated ports again", bindAny, NULL);
}

/* Connects to a server that accepts nobody. */
static void fillBacklog(void) {
  struct sockaddr_in address = addressAt("127.0.0.1", 0);
  socklen_t size = sizeof address;
  int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), count = 0;
  bind(server, (struct sockaddr *)&address, sizeof address);
  listen(server, 1);
  getsockname(server, (struct sockaddr *)&address, &size);
  for (errno = 0; count < MAX_SOCKETS; count++) {
    descriptors[count] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(descriptors[count], (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
      break;
  }
  printRefusal("emulated backlog", count, count == MAX_SOCKETS ? 0 : errno);
  closeAll(count);
  close(server);
}

/* Sends to a socket that is never read. */
static void flood(void) {
  struct sockaddr_in address = addressAt("127.0.0.1", 0);
  socklen_t size = sizeof address;
  char bytes[1000] = {0};
  int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), sent = 0, received = 0;
  int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bind(receiver, (struct sockaddr *)&address, sizeof address);
  getsockname(receiver, (struct sockaddr *)&address, &size);
  while (sent < DATAGRAMS && sendto(sender, bytes, sizeof bytes, 0, (struct sockaddr *)&address, size) > 0)
    sent++;
  while (recv(receiver, bytes, sizeof bytes, MSG_DONTWAIT) > 0) received++;
  printResult("emulated flood", "%d sent, %d kept", sent, received);
}

static void printMemory(void) {
  char line[256];
  int kib = -1;
  FILE *file = fopen("/proc/self/status", "re");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %d", &kib);
  if (file) fclose(file);
  printResult("emulated memory", "%d KiB", kib);
}

void actEmulations(void) {
  static const char *const hosts[] = {"1.1.1.1", "10.0.0.1", "169.254.169.254"};
  char name[64];
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    snprintf(name, sizeof name, "emulated tcp %s", hosts[i]);
    tryInChild(name, connectStream, hosts[i]);
    snprintf(name, sizeof name, "emulated udp %s", hosts[i]);
    tryInChild(name, connectDatagram, hosts[i]);
  }
  tryInChild("emulated streamer", connectStream, "127.0.0.1");
  tryInChild("emulated raw", openRaw, NULL);
  tryInChild("emulated routes", openRoutes, NULL);
  tryInChild("emulated event filter", attachFilter, NULL);
  tryInChild("emulated event", sendEvent, NULL);
  printFamily("emulated stream is", socket(AF_INET, SOCK_STREAM, 0));
  printFamily("emulated datagram is", socket(AF_INET6, SOCK_DGRAM, 0));
  printFamily("emulated events is", socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
  printFamily("emulated watch is", inotify_init1(IN_CLOEXEC));
  limitDescriptors();
  fillWatches();
  fillPorts();
  fillBacklog();
  flood();
  printMemory();
}
