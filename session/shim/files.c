/*
 * The calls that open, duplicate and control files. A game's build flags decide which of several names it
 * calls, so each is overridden.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "descriptors.h"
#include "next.h"
#include "observations.h"
#include "pad.h"
#include "padPaths.h"

/* What programs call that were compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

static bool takesMode(int flags) { return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)); }

#define READ_MODE(flags)                                                                                     \
  mode_t mode = 0;                                                                                           \
  if (takesMode(flags)) {                                                                                    \
    va_list rest;                                                                                            \
    va_start(rest, flags);                                                                                   \
    mode = va_arg(rest, mode_t);                                                                             \
    va_end(rest);                                                                                            \
  }

#define OPEN(function)                                                                                       \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *path, int flags, ...) {                                                  \
    READ_MODE(flags)                                                                                         \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(path, buffer);                                                          \
    int fd = openedNode(NEXT(function)(located, flags, mode), AT_FDCWD, located, flags);                     \
    return observedOpen(fd, AT_FDCWD, path, flags);                                                          \
  }
#define OPEN_AT(function)                                                                                    \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int folder, const char *path, int flags, ...) {                                      \
    READ_MODE(flags)                                                                                         \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(path, buffer);                                                          \
    int fd = openedNode(NEXT(function)(folder, located, flags, mode), folder, located, flags);               \
    return observedOpen(fd, folder, path, flags);                                                            \
  }
#define OPEN_CHECKED(function)                                                                               \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *path, int flags) {                                                       \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(path, buffer);                                                          \
    int fd = openedNode(NEXT(function)(located, flags), AT_FDCWD, located, flags);                           \
    return observedOpen(fd, AT_FDCWD, path, flags);                                                          \
  }
#define OPEN_AT_CHECKED(function)                                                                            \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int folder, const char *path, int flags) {                                           \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(path, buffer);                                                          \
    int fd = openedNode(NEXT(function)(folder, located, flags), folder, located, flags);                     \
    return observedOpen(fd, folder, path, flags);                                                            \
  }
OPEN(open)
OPEN(open64)
OPEN_CHECKED(__open_2)
OPEN_CHECKED(__open64_2)
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_AT_CHECKED(__openat_2)
OPEN_AT_CHECKED(__openat64_2)

OVERRIDES(ioctl)
OVERRIDE int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  struct padNode node;
  if (isPadRequest(request) && findPad(fd, &node)) return controlPad(fd, node, request, argument);
  return NEXT(ioctl)(fd, request, argument);
}

OVERRIDES(dup)
OVERRIDE int dup(int fd) {
  int copy = NEXT(dup)(fd);
  if (copy >= 0) copyDescriptor(fd, copy);
  return copy;
}

OVERRIDES(dup2)
OVERRIDE int dup2(int fd, int to) {
  int copy = NEXT(dup2)(fd, to);
  if (copy >= 0) copyDescriptor(fd, copy);
  return copy;
}

OVERRIDES(dup3)
OVERRIDE int dup3(int fd, int to, int flags) {
  int copy = NEXT(dup3)(fd, to, flags);
  if (copy >= 0) copyDescriptor(fd, copy);
  return copy;
}

#define FCNTL(function)                                                                                      \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int fd, int command, ...) {                                                          \
    va_list rest;                                                                                            \
    va_start(rest, command);                                                                                 \
    void *argument = va_arg(rest, void *);                                                                   \
    va_end(rest);                                                                                            \
    int result = NEXT(function)(fd, command, argument);                                                      \
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) copyDescriptor(fd, result);       \
    return result;                                                                                           \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
