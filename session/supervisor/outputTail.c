#define _GNU_SOURCE
#include "outputTail.h"

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#include "reportFile.h"

#define FILE_NAME "output.log"

enum { TAIL_BYTES = 64 * 1024 };

/* A ring: once it is full, the oldest byte is at `next`. */
static char tail[TAIL_BYTES];
static long next;
static bool isFull, isChanged;
static struct reportFile file;

void openOutputTail(const char *directory) { nameReportFile(&file, directory, FILE_NAME); }

void keepOutput(const char *text, long length) {
  if (length > TAIL_BYTES) {
    text += length - TAIL_BYTES;
    length = TAIL_BYTES;
  }
  long first = length < TAIL_BYTES - next ? length : TAIL_BYTES - next;
  memcpy(tail + next, text, first);
  memcpy(tail, text + first, length - first);
  isFull = isFull || next + length >= TAIL_BYTES;
  next = (next + length) % TAIL_BYTES;
  isChanged = isChanged || length > 0;
}

void writeOutputTail(void) {
  if (!isChanged) return;
  struct iovec parts[] = {{tail + next, isFull ? TAIL_BYTES - next : 0}, {tail, next}};
  isChanged = !replaceReportFile(&file, parts, 2);
}
