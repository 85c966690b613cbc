/* Acts that exhaust the save folder, memory or output. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  FILES = 8,
  MOVING_MIB = 16,
  OUTPUT_SECONDS = 30,
  QUEUES = 1000,
  QUEUE_MESSAGES = 10,
  QUEUE_BYTES = 8192
};

/* Returns bytes that do not compress. */
static void fillRandom(void *bytes, size_t length) {
  static uint64_t state = 88172645463325252u;
  for (uint64_t *at = bytes; (char *)(at + 1) <= (char *)bytes + length; at++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    *at = state;
  }
}

static int openIn(const char *folder, const char *name, int number) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s-%d", folder, name, number);
  return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

static bool writeAll(int file, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = write(file, bytes, length);
    if (count <= 0) return false;
    bytes += count;
    length -= (size_t)count;
  }
  return true;
}

/* Writes up to this many MiB in files of 64 MiB. Returns the MiB written and sets the errno that stopped
 * it, or 0. */
static int fillFolder(const char *folder, int maxMiB) {
  static char block[MEBIBYTE];
  int written = 0, file = -1;
  for (; written < maxMiB; written++) {
    if (written % 64 == 0) {
      if (file >= 0) close(file);
      file = openIn(folder, "fill", written / 64);
    }
    fillRandom(block, sizeof block);
    if (file < 0 || !writeAll(file, block, sizeof block)) return written;
  }
  errno = 0;
  return written;
}

void actFill(void) {
  int written = fillFolder(environmentOr("HOME", "/tmp"), MAX_DISK_MIB);
  printResult("fill written", "%d MiB, %s", written, errno ? codeName(errno) : "none refused");
}

/* Keeps growing, shrinking, removing and recreating files while they are read. */
void actMoving(void) {
  static char block[MEBIBYTE];
  long changes = 0;
  fillRandom(block, sizeof block);
  for (double deadline = seconds() + MAX_SECONDS; seconds() < deadline; changes++) {
    int file = openIn(environmentOr("HOME", "/tmp"), "moving", rand() % FILES);
    if (file < 0) continue;
    off_t place = (off_t)(rand() % (MOVING_MIB * MEBIBYTE));
    if (rand() % 2
            ? ftruncate(file, place)
            : pwrite(file, block, (size_t)(rand() % MEBIBYTE), place)) { /* the result does not matter */
    }
    close(file);
    if (changes == 1000) printResult("moving files", "move");
  }
  printResult("moving changes", "%ld", changes);
}

void actMemory(void) {
  for (int taken = 0; taken < MAX_MEMORY_MIB; taken += 64) {
    char *piece = mmap(NULL, 64 * MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) {
      printResult("memory taken", "%d MiB, %s", taken, codeName(errno));
      return;
    }
    memset(piece, 1, 64 * MEBIBYTE);
  }
  printResult("memory taken", "%d MiB, none refused", MAX_MEMORY_MIB);
}

static void fillQueues(void) {
  static char text[QUEUE_BYTES];
  struct mq_attr shape = {.mq_maxmsg = QUEUE_MESSAGES, .mq_msgsize = QUEUE_BYTES};
  char name[32];
  int made = 0;
  for (; made < QUEUES; made++) {
    snprintf(name, sizeof name, "/hostile-%d", made);
    mqd_t queue = mq_open(name, O_WRONLY | O_CREAT | O_NONBLOCK, 0600, &shape);
    if (queue == (mqd_t)-1) break;
    while (mq_send(queue, text, sizeof text, 0) == 0) {
    }
    mq_close(queue);
  }
  printResult("shm queues", "%d, %s", made, made == QUEUES ? "none refused" : codeName(errno));
}

/* Allocates memory that belongs to no process, so that killing a process does not free it. */
void actShm(void) {
  int written = fillFolder("/dev/shm", MAX_MEMORY_MIB / 2);
  printResult("shm folder", "%d MiB, %s", written, errno ? codeName(errno) : "none refused");
  fillQueues();
  static char block[MEBIBYTE];
  int file = memfd_create("hostile", MFD_CLOEXEC), taken = 0;
  while (taken < MAX_MEMORY_MIB && writeAll(file, block, sizeof block)) taken++;
  printResult("shm memfd", "%d MiB, %s", taken, taken == MAX_MEMORY_MIB ? "none refused" : codeName(errno));
}

/* Writes lines as fast as they are read. */
void actOutput(void) {
  static char lines[MEBIBYTE];
  int written = 0;
  memset(lines, 'x', sizeof lines);
  for (size_t at = 127; at < sizeof lines; at += 128) lines[at] = '\n';
  for (double deadline = seconds() + OUTPUT_SECONDS; written < MAX_DISK_MIB && seconds() < deadline;
       written++)
    if (!writeAll(STDOUT_FILENO, lines, sizeof lines)) break;
  sleepSeconds(5); /* output right after a flood may be dropped with it */
  putchar('\n');
  printResult("output written", "%d MiB", written);
}
