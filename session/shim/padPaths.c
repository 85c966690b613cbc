#define _GNU_SOURCE
#include "padPaths.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

enum { INPUT_MAJOR = 13, FIRST_EVENT_MINOR = 64 };

/* The library overrides some of these for programs. It needs the kernel's. */
#define KERNEL_SOCKET(type) (int)syscall(SYS_socket, AF_UNIX, type, 0)

static char padsFolder[64] = "/run/session/pads";

__attribute__((constructor(101))) static void readFolder(void) {
  const char *given = getenv("JOYPOD_PADS");
  if (given && *given == '/' && strlen(given) < sizeof padsFolder) strcpy(padsFolder, given);
}

const char *padFolder(void) { return padsFolder; }

/* Returns whether a path is one of the gamepads'. Everything else in /sys and /dev is left to the kernel. */
static bool isPadPath(const char *path) {
  static const struct {
    const char *prefix;
    bool isFolder;
  } prefixes[] = {
      {"/dev/input", true},         {"/sys/class/input", true}, {"/sys/devices/platform/joypod", true},
      {"/sys/dev/char/13:", false}, {"/run/udev/data", true},   {"/run/udev/control", true},
  };
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t length = strlen(prefixes[i].prefix);
    if (strncmp(path, prefixes[i].prefix, length) != 0) continue;
    if (!prefixes[i].isFolder || path[length] == '\0' || path[length] == '/') return true;
  }
  return false;
}

const char *locatePath(const char *path, char buffer[PAD_PATH_BYTES]) {
  if (!path || path[0] != '/' || (path[1] != 'd' && path[1] != 's' && path[1] != 'r')) return path;
  if (!isPadPath(path)) return path;
  int length = snprintf(buffer, PAD_PATH_BYTES, "%s%s", padsFolder, path);
  return length < PAD_PATH_BYTES ? buffer : path;
}

void hidePadFolder(char *path) {
  size_t length = strlen(padsFolder);
  if (path && strncmp(path, padsFolder, length) == 0 && path[length] == '/')
    memmove(path, path + length, strlen(path + length) + 1);
}

int connectStreamer(const char *path, int flags) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = KERNEL_SOCKET(SOCK_STREAM | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0));
  if (fd < 0) return -1;
  if (syscall(SYS_connect, fd, &address, sizeof address) < 0) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  if (flags & O_NONBLOCK) syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK);
  return fd;
}

/* Reads a device node's name, such as "event0". */
static bool parseNode(const char *name, struct padNode *node) {
  bool isEvent = strncmp(name, "event", 5) == 0;
  if (!isEvent && strncmp(name, "js", 2) != 0) return false;
  const char *digit = name + (isEvent ? 5 : 2);
  if (digit[0] < '0' || digit[0] >= '0' + MAX_PADS || digit[1] != '\0') return false;
  *node = (struct padNode){isEvent ? EVENT_NODE : JOYSTICK_NODE, digit[0] - '0'};
  return true;
}

bool findPad(int fd, struct padNode *node) {
  static const char nodes[] = "/dev/input/";
  struct sockaddr_un address = {.sun_family = AF_UNSPEC};
  socklen_t length = sizeof address - 1; /* keeps the last byte zero */
  int before = errno;
  bool isConnected = syscall(SYS_getpeername, fd, &address, &length) == 0;
  errno = before;
  size_t prefix = strlen(padsFolder);
  return isConnected && address.sun_family == AF_UNIX && strncmp(address.sun_path, padsFolder, prefix) == 0 &&
         strncmp(address.sun_path + prefix, nodes, sizeof nodes - 1) == 0 &&
         parseNode(address.sun_path + prefix + sizeof nodes - 1, node);
}

int openedNode(int opened, int folder, const char *located, int flags) {
  if (opened >= 0 || errno != ENXIO) return opened;
  char path[PAD_PATH_BYTES];
  struct padNode node;
  if (folder != AT_FDCWD && located[0] != '/')
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder, located);
  else
    snprintf(path, sizeof path, "%s", located);
  int fd = connectStreamer(path, flags);
  if (fd >= 0 && findPad(fd, &node)) return fd;
  if (fd >= 0) close(fd);
  errno = ENXIO;
  return -1;
}

bool isUnplugged(int fd) {
  struct pollfd socket = {.fd = fd, .events = POLLRDHUP};
  return poll(&socket, 1, 0) > 0;
}

static void becomeDevice(struct stat *status, struct padNode node) {
  unsigned minor = (unsigned)node.number + (node.kind == EVENT_NODE ? FIRST_EVENT_MINOR : 0);
  status->st_mode = S_IFCHR | 0660;
  status->st_rdev = makedev(INPUT_MAJOR, minor);
  status->st_size = 0;
}

void describeNode(struct stat *status) {
  int before = errno;
  for (int i = 0; i < 2 * MAX_PADS; i++) {
    struct padNode node = {i % 2 ? JOYSTICK_NODE : EVENT_NODE, i / 2};
    char path[PAD_PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "%s/dev/input/%s%d", padsFolder, i % 2 ? "js" : "event", i / 2);
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        found.st_ino == status->st_ino && found.st_dev == status->st_dev) {
      becomeDevice(status, node);
      break;
    }
  }
  errno = before;
}

void describeDescriptor(int fd, struct stat *status) {
  struct padNode node;
  if (findPad(fd, &node))
    becomeDevice(status, node);
  else
    describeNode(status);
}
