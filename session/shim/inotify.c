/*
 * inotify, which the kernel counts per user id and the filter therefore refuses: sessions of a node share the
 * user. Programs that watch files get a descriptor that reports no change, as if none happened, except of
 * gamepads.
 *
 * The descriptor is a datagram socket connected to itself. Nobody else can send to it, and it needs no second
 * descriptor, which a program that closes all descriptors would close. Removing a watch sends the one event
 * that programs wait for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptors.h"
#include "lock.h"
#include "next.h"
#include "observations.h"
#include "padPaths.h"
#include "padWatch.h"

/* The kernel's usual limits. */
enum { MAX_INSTANCES = 128, MAX_WATCHES = 8192 };

static const uint32_t kinds = IN_ALL_EVENTS, additions = IN_MASK_ADD | IN_MASK_CREATE;

struct instance {
  uint64_t socket; /* inode number, 0 if unused */
  int lastWatch;
};

struct watch {
  int instance; /* index + 1, 0 if unused */
  int number;
  dev_t device;
  ino_t inode;
};

static struct lock lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct instance instances[MAX_INSTANCES];
static struct watch watches[MAX_WATCHES];
static int watchesEnd; /* all after this index are unused */

static void acquireLock(void) { acquire(&lock); }
static void releaseLock(void) { release(&lock); }
__attribute__((constructor)) static void surviveForks(void) {
  pthread_atfork(acquireLock, releaseLock, releaseLock);
}

static int fail(int error) {
  errno = error;
  return -1;
}

static int openSilentSocket(int flags) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t size = sizeof address;
  int kind = SOCK_DGRAM | (flags & IN_CLOEXEC ? SOCK_CLOEXEC : 0) | (flags & IN_NONBLOCK ? SOCK_NONBLOCK : 0);
  int fd = socket(AF_UNIX, kind, 0);
  if (fd < 0) return -1;
  /* An address without a name makes the kernel choose an unused one. */
  if (bind(fd, (struct sockaddr *)&address, sizeof address.sun_family) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
      connect(fd, (struct sockaddr *)&address, size) == 0)
    return fd;
  close(fd);
  return fail(EMFILE);
}

static void forgetWatches(int index) {
  for (int i = 0; i < watchesEnd; i++)
    if (watches[i].instance == index + 1) watches[i].instance = 0;
}

/* Returns the index of an unused instance, or -1. Those whose descriptors are closed count as unused. */
static int findInstance(void) {
  for (int i = 0; i < MAX_INSTANCES; i++)
    if (instances[i].socket == 0) return i;
  int found = -1;
  for (int i = 0; i < MAX_INSTANCES; i++) {
    if (isRemembered(instances[i].socket, FILE_WATCH)) continue;
    forgetWatches(i);
    instances[i].socket = 0;
    found = i;
  }
  return found;
}

static int openEmulated(int flags) {
  observe("watch", "inotify");
  int fd = openSilentSocket(flags);
  if (fd < 0) return -1;
  acquire(&lock);
  int index = findInstance();
  if (index >= 0) {
    forgetWatches(index);
    instances[index] = (struct instance){.socket = inodeOf(fd)};
    rememberDescriptor(fd, FILE_WATCH, &index, sizeof index);
  }
  release(&lock);
  if (index >= 0) return fd;
  close(fd);
  return fail(EMFILE);
}

OVERRIDES(inotify_init1)
OVERRIDE int inotify_init1(int flags) {
  int fd = NEXT(inotify_init1)(flags);
  if (fd >= 0 || errno != ENOSYS) return fd;
  return flags & ~(IN_CLOEXEC | IN_NONBLOCK) ? fail(EINVAL) : openEmulated(flags);
}

OVERRIDES(inotify_init)
OVERRIDE int inotify_init(void) { return inotify_init1(0); }

/* Returns the watch's entry, a new one, or NULL if there is no room. */
static struct watch *enterWatch(int index, const struct stat *file, bool *isNew) {
  struct watch *unused = NULL;
  for (int i = 0; i < watchesEnd; i++) {
    struct watch *watch = &watches[i];
    *isNew = false;
    if (watch->instance == index + 1 && watch->device == file->st_dev && watch->inode == file->st_ino)
      return watch;
    if (watch->instance == 0 && !unused) unused = watch;
  }
  *isNew = true;
  if (!unused && watchesEnd < MAX_WATCHES) unused = &watches[watchesEnd++];
  if (unused) *unused = (struct watch){index + 1, ++instances[index].lastWatch, file->st_dev, file->st_ino};
  return unused;
}

static int watchFile(int index, const struct stat *file, uint32_t mask) {
  bool isNew;
  acquire(&lock);
  struct watch *watch = enterWatch(index, file, &isNew);
  int number = watch ? watch->number : 0;
  release(&lock);
  if (number == 0) return fail(ENOSPC);
  return !isNew && mask & IN_MASK_CREATE ? fail(EEXIST) : number;
}

/* The folder of the gamepads is the only one whose changes are reported. */
static void reportPads(int fd, int index, int number, uint32_t mask) {
  int before = errno;
  if (watchPads(fd, number, mask)) {
    acquire(&lock);
    instances[index].socket = inodeOf(fd);
    rememberDescriptor(fd, FILE_WATCH, &index, sizeof index);
    release(&lock);
  }
  errno = before;
}

OVERRIDES(inotify_add_watch)
OVERRIDE int inotify_add_watch(int fd, const char *path, uint32_t mask) {
  const int *index = stateOf(fd, FILE_WATCH);
  struct stat file;
  char buffer[PAD_PATH_BYTES];
  if (!index) return NEXT(inotify_add_watch)(fd, locatePath(path, buffer), mask);
  if (!(mask & kinds) || (mask & additions) == additions) return fail(EINVAL);
  if (fstatat(AT_FDCWD, path, &file, mask & IN_DONT_FOLLOW ? AT_SYMLINK_NOFOLLOW : 0) != 0) return -1;
  if (mask & IN_ONLYDIR && !S_ISDIR(file.st_mode)) return fail(ENOTDIR);
  if (!S_ISLNK(file.st_mode) && access(path, R_OK) != 0) return -1;
  int number = watchFile(*index, &file, mask);
  if (number > 0 && isPadsFolder(path)) reportPads(fd, *index, number, mask);
  return number;
}

OVERRIDES(inotify_rm_watch)
OVERRIDE int inotify_rm_watch(int fd, int number) {
  const int *index = stateOf(fd, FILE_WATCH);
  if (!index) return NEXT(inotify_rm_watch)(fd, number);
  bool isFound = false;
  acquire(&lock);
  for (int i = 0; i < watchesEnd && !isFound; i++) {
    isFound = watches[i].instance == *index + 1 && watches[i].number == number;
    if (isFound) watches[i].instance = 0;
  }
  release(&lock);
  if (!isFound) return fail(EINVAL);
  if (unwatchPads(fd, number)) return 0;
  struct inotify_event event = {.wd = number, .mask = IN_IGNORED};
  int before = errno;
  send(fd, &event, sizeof event, MSG_DONTWAIT | MSG_NOSIGNAL);
  errno = before;
  return 0;
}
