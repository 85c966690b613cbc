#define _GNU_SOURCE
#include "terminationReport.h"

#include <stdio.h>

#include "cgroup.h"
#include "clock.h"
#include "fullFolders.h"
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

void writeTerminationReport(struct gameEnd game) {
  struct usage used = readUsage();
  char end[192], full[64], text[768];
  listFullFolders(full, sizeof full);
  if (game.reason)
    snprintf(end, sizeof end,
             "\"ended\",\"reason\":\"%s\",\"exitCode\":%d,\"endedBy\":\"%s\",\"hasOutlivedLauncher\":%s",
             game.reason, game.exitCode, game.endedBy ? game.endedBy : "itself",
             game.hasOutlivedLauncher ? "true" : "false");
  else
    snprintf(end, sizeof end, "\"running\",\"reason\":null,\"exitCode\":null");
  int length = snprintf(text, sizeof text,
                        "{\"state\":%s,\"fullFolders\":[%s],\"cpuSeconds\":%.3f,\"peakMemoryBytes\":%lld,"
                        "\"oomKills\":%lld,\"wallSeconds\":%.3f}",
                        end, full, used.cpuSeconds, used.peakMemoryBytes, used.oomKills,
                        (nowMs() - startedMs) / 1000.0);
  writeOutputTail(); /* first: who reads that the game has ended finds its output */
  replaceReportFile(&file, &(struct iovec){text, length}, 1);
  if (game.reason) logLine("game ended %s", text);
}
