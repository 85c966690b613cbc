/* The calls that list folders and open streams. The C library's own calls of open cannot be overridden. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "next.h"
#include "observations.h"
#include "padPaths.h"

ssize_t __read_chk(int fd, void *to, size_t length, size_t room);

OVERRIDES(opendir)
OVERRIDE DIR *opendir(const char *path) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(opendir)(locatePath(path, buffer));
}

#define SCAN(function, type)                                                                                 \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *path, struct type ***entries, int (*isWanted)(const struct type *),      \
                        int (*compare)(const struct type **, const struct type **)) {                        \
    char buffer[PAD_PATH_BYTES];                                                                             \
    return NEXT(function)(locatePath(path, buffer), entries, isWanted, compare);                             \
  }
SCAN(scandir, dirent)
SCAN(scandir64, dirent64)

#define GLOB(function, type)                                                                                 \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *pattern, int flags, int (*onError)(const char *, int), type *found) {    \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(pattern, buffer);                                                       \
    int result = NEXT(function)(located, flags, onError, found);                                             \
    if (result == 0 && located != pattern)                                                                   \
      for (size_t i = 0; i < found->gl_pathc; i++) hidePadFolder(found->gl_pathv[found->gl_offs + i]);       \
    return result;                                                                                           \
  }
GLOB(glob, glob_t)
GLOB(glob64, glob64_t)

static int flagsOf(const char *mode) {
  return (strchr(mode, '+') ? O_RDWR
          : *mode == 'r'    ? O_RDONLY
                            : O_WRONLY) |
         (strchr(mode, 'e') ? O_CLOEXEC : 0);
}

#define OPEN_STREAM(function)                                                                                \
  OVERRIDES(function)                                                                                        \
  OVERRIDE FILE *function(const char *path, const char *mode) {                                              \
    char buffer[PAD_PATH_BYTES];                                                                             \
    const char *located = locatePath(path, buffer);                                                          \
    FILE *stream = NEXT(function)(located, mode);                                                            \
    if (stream || located == path) {                                                                         \
      if (!stream) observedOpen(-1, AT_FDCWD, path, flagsOf(mode));                                          \
      return stream;                                                                                         \
    }                                                                                                        \
    int fd = openedNode(-1, AT_FDCWD, located, flagsOf(mode));                                               \
    return fd < 0 ? NULL : fdopen(fd, mode);                                                                 \
  }
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

/* The end of the stream is an unplugged pad. Programs expect an error then: some read until they get one. */
static ssize_t endOf(ssize_t length, int fd) {
  struct padNode node;
  if (length != 0 || !findPad(fd, &node)) return length;
  errno = ENODEV;
  return -1;
}

OVERRIDES(read)
OVERRIDE ssize_t read(int fd, void *to, size_t room) {
  ssize_t length = NEXT(read)(fd, to, room);
  return length == 0 && room > 0 ? endOf(length, fd) : length;
}

OVERRIDES(__read_chk)
OVERRIDE ssize_t __read_chk(int fd, void *to, size_t length, size_t room) {
  ssize_t got = NEXT(__read_chk)(fd, to, length, room);
  return got == 0 && length > 0 ? endOf(got, fd) : got;
}

OVERRIDES(readv)
OVERRIDE ssize_t readv(int fd, const struct iovec *parts, int count) {
  ssize_t length = NEXT(readv)(fd, parts, count);
  return length == 0 && count > 0 ? endOf(length, fd) : length;
}
