#define _GNU_SOURCE
#include "padWatch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "padPaths.h"

enum { REQUEST_BYTES = 64 };

bool isPadsFolder(const char *path) {
  char buffer[PAD_PATH_BYTES];
  const char *located = locatePath(path, buffer);
  size_t length = strlen(located);
  while (length > 1 && located[length - 1] == '/') length--;
  const char *name = "/dev/input";
  size_t start = strlen(padFolder());
  return located != path && length == start + strlen(name) &&
         strncmp(located + start, name, strlen(name)) == 0;
}

static void describeHotplug(char path[PAD_PATH_BYTES]) {
  snprintf(path, PAD_PATH_BYTES, "%s/hotplug", padFolder());
}

/* Returns whether a descriptor is a connection on which the streamer reports gamepads. */
static bool isReported(int fd) {
  char path[PAD_PATH_BYTES];
  struct sockaddr_un address = {.sun_family = AF_UNSPEC};
  socklen_t length = sizeof address - 1; /* keeps the last byte zero */
  describeHotplug(path);
  return syscall(SYS_getpeername, fd, &address, &length) == 0 && address.sun_family == AF_UNIX &&
         strcmp(address.sun_path, path) == 0;
}

static bool request(int fd, const char *line) {
  size_t length = strlen(line);
  return syscall(SYS_sendto, fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) == (long)length;
}

bool watchPads(int fd, int number, uint32_t mask) {
  char path[PAD_PATH_BYTES], line[REQUEST_BYTES];
  snprintf(line, sizeof line, "inotify %d %u\n", number, mask);
  if (isReported(fd)) return request(fd, line);
  describeHotplug(path);
  int flags = (int)syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK;
  int isClosedOnExec = (int)syscall(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC;
  int connection = connectStreamer(path, flags | O_CLOEXEC);
  bool isDone = connection >= 0 && request(connection, line) &&
                syscall(SYS_dup3, connection, fd, isClosedOnExec ? O_CLOEXEC : 0) == fd;
  if (connection >= 0) close(connection);
  return isDone;
}

bool unwatchPads(int fd, int number) {
  char line[REQUEST_BYTES];
  int before = errno;
  bool isDone = isReported(fd);
  snprintf(line, sizeof line, "ignored %d\n", number);
  if (isDone) request(fd, line);
  errno = before;
  return isDone;
}
