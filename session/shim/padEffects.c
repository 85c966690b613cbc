/*
 * Force feedback. A program uploads an effect, which gets a number, and writes that number to play it. This
 * file gives the numbers; uploads go to the streamer, which also reads what the program writes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/input.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pad.h"

enum { MAX_OPEN_PADS = 64 };

/* The effects of an open device node, by its socket's inode number. The oldest entry is reused. */
struct uploads {
  uint64_t inode;
  uint16_t used; /* bits */
};
static struct uploads table[MAX_OPEN_PADS];
static int oldest;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static struct uploads *lockUploads(int fd) {
  while (atomic_flag_test_and_set(&busy)) {
  }
  struct stat status = {.st_ino = 0};
  syscall(SYS_fstat, fd, &status);
  for (int i = 0; i < MAX_OPEN_PADS; i++)
    if (table[i].inode == status.st_ino) return &table[i];
  struct uploads *entry = &table[oldest];
  oldest = (oldest + 1) % MAX_OPEN_PADS;
  *entry = (struct uploads){.inode = status.st_ino};
  return entry;
}

static void unlockUploads(void) { atomic_flag_clear(&busy); }

static bool isKnown(const struct ff_effect *effect) {
  if (effect->type == FF_RUMBLE) return true;
  if (effect->type != FF_PERIODIC) return false;
  unsigned short wave = effect->u.periodic.waveform;
  return wave == FF_SQUARE || wave == FF_TRIANGLE || wave == FF_SINE;
}

/* Returns the number of a new effect, or of the effect that is replaced. -1 with errno if there is none. */
static int takeNumber(struct uploads *uploads, int wanted) {
  if (wanted >= 0) {
    if (wanted < MAX_EFFECTS && uploads->used >> wanted & 1) return wanted;
    errno = EINVAL;
    return -1;
  }
  for (int id = 0; id < MAX_EFFECTS; id++) {
    if (uploads->used >> id & 1) continue;
    uploads->used |= (uint16_t)(1 << id);
    return id;
  }
  errno = ENOSPC;
  return -1;
}

int uploadEffect(int fd, struct ff_effect *effect) {
  if (!isKnown(effect)) {
    errno = EINVAL;
    return -1;
  }
  int id = takeNumber(lockUploads(fd), effect->id);
  unlockUploads();
  if (id < 0) return -1;
  effect->id = (short)id;
  sendPadRequest(fd, UPLOAD_REQUEST, (unsigned short)id, 0, effect, sizeof *effect);
  return 0;
}

int eraseEffect(int fd, int id) {
  struct uploads *uploads = lockUploads(fd);
  bool isUsed = id >= 0 && id < MAX_EFFECTS && uploads->used >> id & 1;
  if (isUsed) uploads->used &= (uint16_t)~(1 << id);
  unlockUploads();
  if (!isUsed) {
    errno = EINVAL;
    return -1;
  }
  sendPadRequest(fd, ERASE_REQUEST, (unsigned short)id, 0, NULL, 0);
  return 0;
}
