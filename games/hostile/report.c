/* Lies in the folder in which the game's container says how the game is. The supervisor writes there too, so each lie is told again and again. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIE_SECONDS = 2, CLAIMED_MIB = 500 };

static char report[256], lie[256], draft[256];

static const char wildFigures[] =
  "{\"state\":\"running\",\"reason\":null,\"exitCode\":null,\"cpuSeconds\":1e15,\"peakMemoryBytes\":1152921504606846976,"
  "\"oomKills\":0,\"wallSeconds\":1e15}";

static int writeLie(const char *text, size_t length, off_t claimed) {
  int file = open(lie, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return -1;
  int result = write(file, text, length) == (ssize_t)length && (claimed == 0 || ftruncate(file, claimed) == 0) ? 0 : -1;
  close(file);
  return result;
}

static int makeFifo(void) { return mkfifo(lie, 0666); }
static int makeClaim(void) { return writeLie("{", 1, (off_t)CLAIMED_MIB * MEBIBYTE); }
static int makeZeroLink(void) { return symlink("/dev/zero", lie); }
static int makeDirectory(void) { return mkdir(lie, 0777); }
static int makeWild(void) { return writeLie(wildFigures, sizeof wildFigures - 1, 0); }

static void clear(const char *path) {
  if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) rmdir(path);
}

/* Puts it in the report's place, as often as it goes. */
static void tellLie(const char *name, int (*make)(void)) {
  int placed = 0, code = 0;
  for (double deadline = seconds() + LIE_SECONDS; seconds() < deadline; pauseFor(0.005)) {
    clear(lie);
    if (make() != 0) { code = errno; continue; }
    if (rename(lie, report) != 0) clear(report); /* a folder replaces no file, and no file a folder */
    if (access(lie, F_OK) != 0 || rename(lie, report) == 0) placed++;
    else code = errno;
  }
  if (placed > 0) tell(name, "placed %d times", placed);
  else tell(name, "%s", codeName(code));
}

/* A FIFO where the supervisor makes its next report: one that opens it to write would wait for a reader for ever. */
static void blockDraft(void) {
  int placed = 0;
  for (double deadline = seconds() + LIE_SECONDS; seconds() < deadline;) {
    clear(draft);
    if (mkfifo(draft, 0666) == 0) placed++;
  }
  tell("report draft", "a FIFO %d times", placed);
}

/* A folder that is not empty cannot be replaced by a file: the last lie stays. */
static void keepLie(void) {
  char inside[280];
  clear(draft);
  snprintf(inside, sizeof inside, "%s/kept", draft);
  tell("report kept", "%s", mkdir(draft, 0777) == 0 && mkdir(inside, 0777) == 0 ? "yes" : codeName(errno));
}

void actReport(void) {
  const char *folder = setting("GAME_REPORT_DIR", "/run/game");
  snprintf(report, sizeof report, "%s/game.json", folder);
  snprintf(lie, sizeof lie, "%s/lie", folder);
  snprintf(draft, sizeof draft, "%s/game.json.new", folder);
  tellLie("report fifo", makeFifo);
  tellLie("report claim", makeClaim);
  tellLie("report zero", makeZeroLink);
  tellLie("report folder", makeDirectory);
  blockDraft();
  tellLie("report wild", makeWild);
  keepLie();
  tellLie("report wild again", makeWild);
}
