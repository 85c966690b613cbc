#define _GNU_SOURCE
#include "reportFile.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void nameReportFile(struct reportFile *file, const char *directory, const char *name) {
  snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
  snprintf(file->draft, sizeof file->draft, "%s/%s.new", directory, name);
}

/* Writes only to a file that it creates, so a FIFO or link that the game left there is neither waited for
 * nor followed. */
static bool writeNew(const char *path, const struct iovec *parts, int count) {
  unlink(path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  ssize_t length = 0;
  for (int i = 0; i < count; i++) length += (ssize_t)parts[i].iov_len;
  bool whole = writev(fd, parts, count) == length;
  close(fd);
  return whole;
}

bool replaceReportFile(const struct reportFile *file, const struct iovec *parts, int count) {
  return writeNew(file->draft, parts, count) && rename(file->draft, file->path) == 0;
}
