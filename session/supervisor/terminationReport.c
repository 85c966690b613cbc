#define _GNU_SOURCE
#include "terminationReport.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"
#include "output.h"

#define FILE_NAME "game.json"

static char path[256], draft[256];
static long startedMs;

void openTerminationReport(const char *directory) {
  snprintf(path, sizeof path, "%s/%s", directory, FILE_NAME);
  snprintf(draft, sizeof draft, "%s/%s.new", directory, FILE_NAME);
  startedMs = nowMs();
}

/* Writes only to a file that it creates, so a FIFO or link that the game left there is neither waited for
 * nor followed. */
static bool writeNew(const char *text, int length) {
  unlink(draft);
  int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  bool whole = write(fd, text, length) == length;
  close(fd);
  return whole;
}

void writeTerminationReport(const char *reason, int exitCode) {
  struct usage used = readUsage();
  char end[96], text[512];
  if (reason)
    snprintf(end, sizeof end, "\"ended\",\"reason\":\"%s\",\"exitCode\":%d", reason, exitCode);
  else
    snprintf(end, sizeof end, "\"running\",\"reason\":null,\"exitCode\":null");
  int length = snprintf(
      text, sizeof text,
      "{\"state\":%s,\"cpuSeconds\":%.3f,\"peakMemoryBytes\":%lld,\"oomKills\":%lld,\"wallSeconds\":%.3f}",
      end, used.cpuSeconds, used.peakMemoryBytes, used.oomKills, (nowMs() - startedMs) / 1000.0);
  if (writeNew(text, length)) rename(draft, path); /* readers never see a partial report */
  if (reason) logLine("game ended %s", text);
}
