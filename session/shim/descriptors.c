#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

struct descriptor {
  _Atomic(enum emulation) emulation;
  uint64_t inode;
  _Alignas(8) unsigned char state[STATE_BYTES];
};

/* 4 MiB of which only the pages of descriptors in use take memory. */
static struct descriptor descriptors[MAX_DESCRIPTORS];

uint64_t inodeOf(int fd) {
  int before = errno;
  struct stat s;
  uint64_t inode = fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode) ? s.st_ino : 0;
  errno = before;
  return inode;
}

static struct descriptor *entryOf(int fd) {
  return fd >= 0 && fd < MAX_DESCRIPTORS ? &descriptors[fd] : NULL;
}

void rememberDescriptor(int fd, enum emulation emulation, const void *state, size_t size) {
  struct descriptor *entry = entryOf(fd);
  if (!entry) return;
  atomic_store(&entry->emulation, NOT_EMULATED);
  entry->inode = inodeOf(fd);
  memset(entry->state, 0, sizeof entry->state);
  if (size > 0) memcpy(entry->state, state, size);
  atomic_store(&entry->emulation, emulation);
}

bool isRemembered(uint64_t inode, enum emulation emulation) {
  for (int fd = 0; fd < MAX_DESCRIPTORS; fd++)
    if (atomic_load(&descriptors[fd].emulation) == emulation && descriptors[fd].inode == inode &&
        inodeOf(fd) == inode)
      return true;
  return false;
}

void copyDescriptor(int from, int to) {
  struct descriptor *source = entryOf(from), *target = entryOf(to);
  if (!source || !target || source == target) return;
  enum emulation emulation = atomic_load(&source->emulation);
  if (emulation == NOT_EMULATED) return;
  atomic_store(&target->emulation, NOT_EMULATED);
  target->inode = source->inode;
  memcpy(target->state, source->state, sizeof target->state);
  atomic_store(&target->emulation, emulation);
}

void *stateOf(int fd, enum emulation emulation) {
  struct descriptor *entry = entryOf(fd);
  if (!entry || atomic_load(&entry->emulation) != emulation) return NULL;
  return inodeOf(fd) == entry->inode ? entry->state : NULL;
}
