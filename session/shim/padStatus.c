/*
 * The calls that look at paths without opening them. Programs that were built with an old C library call the
 * names that begin with two underscores.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "next.h"
#include "padPaths.h"

int __xstat(int version, const char *path, struct stat *status);
int __xstat64(int version, const char *path, struct stat64 *status);
int __lxstat(int version, const char *path, struct stat *status);
int __lxstat64(int version, const char *path, struct stat64 *status);
int __fxstat(int version, int fd, struct stat *status);
int __fxstat64(int version, int fd, struct stat64 *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *status, int flags);
char *__realpath_chk(const char *path, char *resolved, size_t room);
ssize_t __readlink_chk(const char *path, char *target, size_t length, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *target, size_t length, size_t room);

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "both have the same layout on 64-bit machines");

/* Only sockets cost more than a comparison. */
static int describe(int result, void *status) {
  if (result == 0 && S_ISSOCK(((struct stat *)status)->st_mode)) describeNode(status);
  return result;
}

static int describeOpen(int result, int fd, void *status) {
  if (result == 0 && S_ISSOCK(((struct stat *)status)->st_mode)) describeDescriptor(fd, status);
  return result;
}

#define STATUS(function, type)                                                                               \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *path, struct type *status) {                                             \
    char buffer[PAD_PATH_BYTES];                                                                             \
    return describe(NEXT(function)(locatePath(path, buffer), status), status);                               \
  }
STATUS(stat, stat)
STATUS(stat64, stat64)
STATUS(lstat, stat)
STATUS(lstat64, stat64)

#define OLD_STATUS(function, type)                                                                           \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int version, const char *path, struct type *status) {                                \
    char buffer[PAD_PATH_BYTES];                                                                             \
    return describe(NEXT(function)(version, locatePath(path, buffer), status), status);                      \
  }
OLD_STATUS(__xstat, stat)
OLD_STATUS(__xstat64, stat64)
OLD_STATUS(__lxstat, stat)
OLD_STATUS(__lxstat64, stat64)

/* An empty path stands for the descriptor. */
static int describeAt(int result, int folder, const char *path, void *status) {
  return path && *path ? describe(result, status) : describeOpen(result, folder, status);
}

#define STATUS_AT(function, type)                                                                            \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int folder, const char *path, struct type *status, int flags) {                      \
    char buffer[PAD_PATH_BYTES];                                                                             \
    int result = NEXT(function)(folder, locatePath(path, buffer), status, flags);                            \
    return describeAt(result, folder, path, status);                                                         \
  }
STATUS_AT(fstatat, stat)
STATUS_AT(fstatat64, stat64)

#define OLD_STATUS_AT(function, type)                                                                        \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int version, int folder, const char *path, struct type *status, int flags) {         \
    char buffer[PAD_PATH_BYTES];                                                                             \
    int result = NEXT(function)(version, folder, locatePath(path, buffer), status, flags);                   \
    return describeAt(result, folder, path, status);                                                         \
  }
OLD_STATUS_AT(__fxstatat, stat)
OLD_STATUS_AT(__fxstatat64, stat64)

#define STATUS_OF(function, type)                                                                            \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int fd, struct type *status) {                                                       \
    return describeOpen(NEXT(function)(fd, status), fd, status);                                             \
  }
STATUS_OF(fstat, stat)
STATUS_OF(fstat64, stat64)

#define OLD_STATUS_OF(function, type)                                                                        \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(int version, int fd, struct type *status) {                                          \
    return describeOpen(NEXT(function)(version, fd, status), fd, status);                                    \
  }
OLD_STATUS_OF(__fxstat, stat)
OLD_STATUS_OF(__fxstat64, stat64)

OVERRIDES(statx)
OVERRIDE int statx(int folder, const char *path, int flags, unsigned mask, struct statx *status) {
  char buffer[PAD_PATH_BYTES];
  int result = NEXT(statx)(folder, locatePath(path, buffer), flags, mask, status);
  if (result != 0 || !S_ISSOCK(status->stx_mode)) return result;
  struct stat found = {.st_mode = status->stx_mode,
                       .st_ino = status->stx_ino,
                       .st_dev = makedev(status->stx_dev_major, status->stx_dev_minor)};
  describeAt(0, folder, path, &found);
  status->stx_mode = (unsigned short)found.st_mode;
  status->stx_rdev_major = major(found.st_rdev);
  status->stx_rdev_minor = minor(found.st_rdev);
  return 0;
}

#define ACCESS(function)                                                                                     \
  OVERRIDES(function)                                                                                        \
  OVERRIDE int function(const char *path, int mode) {                                                        \
    char buffer[PAD_PATH_BYTES];                                                                             \
    return NEXT(function)(locatePath(path, buffer), mode);                                                   \
  }
ACCESS(access)
ACCESS(eaccess)
ACCESS(euidaccess)

OVERRIDES(faccessat)
OVERRIDE int faccessat(int folder, const char *path, int mode, int flags) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(faccessat)(folder, locatePath(path, buffer), mode, flags);
}

OVERRIDES(readlink)
OVERRIDE ssize_t readlink(const char *path, char *target, size_t room) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(readlink)(locatePath(path, buffer), target, room);
}

OVERRIDES(readlinkat)
OVERRIDE ssize_t readlinkat(int folder, const char *path, char *target, size_t room) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(readlinkat)(folder, locatePath(path, buffer), target, room);
}

OVERRIDES(__readlink_chk)
OVERRIDE ssize_t __readlink_chk(const char *path, char *target, size_t length, size_t room) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(__readlink_chk)(locatePath(path, buffer), target, length, room);
}

OVERRIDES(__readlinkat_chk)
OVERRIDE ssize_t __readlinkat_chk(int folder, const char *path, char *target, size_t length, size_t room) {
  char buffer[PAD_PATH_BYTES];
  return NEXT(__readlinkat_chk)(folder, locatePath(path, buffer), target, length, room);
}

OVERRIDES(realpath)
OVERRIDE char *realpath(const char *path, char *resolved) {
  char buffer[PAD_PATH_BYTES];
  char *found = NEXT(realpath)(locatePath(path, buffer), resolved);
  hidePadFolder(found);
  return found;
}

OVERRIDES(__realpath_chk)
OVERRIDE char *__realpath_chk(const char *path, char *resolved, size_t room) {
  char buffer[PAD_PATH_BYTES];
  char *found = NEXT(__realpath_chk)(locatePath(path, buffer), resolved, room);
  hidePadFolder(found);
  return found;
}

OVERRIDES(canonicalize_file_name)
OVERRIDE char *canonicalize_file_name(const char *path) {
  char buffer[PAD_PATH_BYTES];
  char *found = NEXT(canonicalize_file_name)(locatePath(path, buffer));
  hidePadFolder(found);
  return found;
}
