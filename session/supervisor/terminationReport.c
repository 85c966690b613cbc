#define _GNU_SOURCE
#include "terminationReport.h"

#include <stdio.h>

#include "cgroup.h"
#include "clock.h"
#include "output.h"
#include "outputTail.h"
#include "reportFile.h"

#define FILE_NAME "game.json"

static struct reportFile file;
static long startedMs;

void openTerminationReport(const char *directory) {
  nameReportFile(&file, directory, FILE_NAME);
  openOutputTail(directory);
  startedMs = nowMs();
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
  writeOutputTail(); /* first: who reads that the game has ended finds its output */
  replaceReportFile(&file, &(struct iovec){text, length}, 1);
  if (reason) logLine("game ended %s", text);
}
