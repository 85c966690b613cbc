/* Places fake reports in the folder of the game's termination report. The supervisor writes there too, so
 * each fake is placed repeatedly. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAKE_REPORT_SECONDS = 2, CLAIMED_MIB = 500 };

static char report[256], fake[256], draft[256];

static const char wildFigures[] = "{\"state\":\"running\",\"reason\":null,\"exitCode\":null,\"cpuSeconds\":"
                                  "1e15,\"peakMemoryBytes\":1152921504606846976,"
                                  "\"oomKills\":0,\"wallSeconds\":1e15}";

static int writeFakeReport(const char *text, size_t length, off_t claimed) {
  int file = open(fake, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return -1;
  int result = write(file, text, length) == (ssize_t)length && (claimed == 0 || ftruncate(file, claimed) == 0)
                   ? 0
                   : -1;
  close(file);
  return result;
}

static int makeFifo(void) { return mkfifo(fake, 0666); }
static int makeClaim(void) { return writeFakeReport("{", 1, (off_t)CLAIMED_MIB * MEBIBYTE); }
static int makeZeroLink(void) { return symlink("/dev/zero", fake); }
static int makeDirectory(void) { return mkdir(fake, 0777); }
static int makeWild(void) { return writeFakeReport(wildFigures, sizeof wildFigures - 1, 0); }

static void clear(const char *path) {
  if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) rmdir(path);
}

/* Replaces the report with a fake as often as possible. */
static void placeFakeReport(const char *name, int (*make)(void)) {
  int placed = 0, code = 0;
  for (double deadline = seconds() + FAKE_REPORT_SECONDS; seconds() < deadline; sleepSeconds(0.005)) {
    clear(fake);
    if (make() != 0) {
      code = errno;
      continue;
    }
    if (rename(fake, report) != 0) clear(report); /* a folder cannot replace a file, or a file a folder */
    if (access(fake, F_OK) != 0 || rename(fake, report) == 0)
      placed++;
    else
      code = errno;
  }
  if (placed > 0)
    printResult(name, "placed %d times", placed);
  else
    printResult(name, "%s", codeName(code));
}

/* Puts a FIFO where the supervisor writes its next report. Opening it for writing would block forever. */
static void blockDraft(void) {
  int placed = 0;
  for (double deadline = seconds() + FAKE_REPORT_SECONDS; seconds() < deadline;) {
    clear(draft);
    if (mkfifo(draft, 0666) == 0) placed++;
  }
  printResult("report draft", "a FIFO %d times", placed);
}

/* Keeps the last fake: a file cannot replace a non-empty folder. */
static void keepFakeReport(void) {
  char inside[280];
  clear(draft);
  snprintf(inside, sizeof inside, "%s/kept", draft);
  printResult("report kept", "%s",
              mkdir(draft, 0777) == 0 && mkdir(inside, 0777) == 0 ? "yes" : codeName(errno));
}

void actReport(void) {
  const char *folder = environmentOr("GAME_REPORT_DIR", "/run/game");
  snprintf(report, sizeof report, "%s/game.json", folder);
  snprintf(fake, sizeof fake, "%s/fake", folder);
  snprintf(draft, sizeof draft, "%s/game.json.new", folder);
  placeFakeReport("report fifo", makeFifo);
  placeFakeReport("report claim", makeClaim);
  placeFakeReport("report zero", makeZeroLink);
  placeFakeReport("report folder", makeDirectory);
  blockDraft();
  placeFakeReport("report wild", makeWild);
  keepFakeReport();
  placeFakeReport("report wild again", makeWild);
}
