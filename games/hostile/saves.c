/* Creates save folders that are hard to walk: deep, wide, full of special files, or replaced by a link. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { DEPTH = 30, LONG_NAME = 200, LONGEST_NAME = 255, NAMES = 1000000, NAMES_SECONDS = 30, LINKS = 100000 };

static const char *home(void) { return environmentOr("HOME", "/tmp"); }
static int openHome(void) { return open(home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/* Returns a name of this length that ends in a number. */
static const char *longName(int length, int number) {
  static char name[LONGEST_NAME + 1];
  snprintf(name, sizeof name, "%0*d", length, number);
  return name;
}

void actDeep(void) {
  int folder = openHome(), depth = 0;
  for (; folder >= 0 && depth < DEPTH; depth++) {
    if (mkdirat(folder, longName(LONG_NAME, depth), 0755) != 0) break;
    int next = openat(folder, longName(LONG_NAME, depth), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(folder);
    folder = next;
  }
  int file = folder < 0 ? -1 : openat(folder, "deepest", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  printResult("deep folders", "%d, %s", depth, file < 0 ? codeName(errno) : "with a file");
}

void actNames(void) {
  int folder = openHome(), made = 0, code = 0;
  for (double deadline = seconds() + NAMES_SECONDS; made < NAMES && (made % 1000 || seconds() < deadline);
       made++) {
    int file = openat(folder, longName(LONGEST_NAME, made), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) {
      code = errno;
      break;
    }
    close(file);
    if (made % 50000 == 0)
      printResult("names so far", "%d", made); /* the memory limit may kill the game before it finishes */
  }
  printResult("names made", "%d, %s", made, code ? codeName(code) : "none refused");
}

void actLinks(void) {
  int folder = openHome(), made = 0, code = 0;
  char name[32];
  while (made < LINKS && code == 0) {
    snprintf(name, sizeof name, "link-%d", made);
    int result = made % 2 ? linkat(folder, "progress", folder, name, 0)
                          : symlinkat(made % 4 ? "/etc/passwd" : name, folder, name);
    if (result == 0)
      made++;
    else
      code = errno;
  }
  printResult("links made", "%d, %s", made, code ? codeName(code) : "none refused");
}

static long bindSocket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : bind(s, (struct sockaddr *)&address, sizeof address);
}

static long touch(const char *name) {
  return openat(openHome(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0 ? -1 : 0;
}
static long makeFifo(const char *name) { return mkfifoat(openHome(), name, 0666); }
static long makeSocket(const char *name) { return mknodat(openHome(), name, S_IFSOCK | 0666, 0); }
static long makeLocked(const char *name) { return touch(name) != 0 ? -1 : fchmodat(openHome(), name, 0, 0); }
static long makeLockedFolder(const char *name) {
  return mkdirat(openHome(), name, 0755) != 0 ? -1 : fchmodat(openHome(), name, 0, 0);
}
static long makeSetuid(const char *name) {
  return touch(name) != 0 ? -1 : fchmodat(openHome(), name, 06777, 0);
}
static long makeSparse(const char *name) {
  int file = openat(openHome(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return file < 0 ? -1 : ftruncate(file, (off_t)1 << 40);
}
static long makeLoop(const char *name) { return symlinkat(name, openHome(), name); }
static long makeUpward(const char *name) { return symlinkat("..", openHome(), name); }

void actOdd(void) {
  char path[108];
  snprintf(path, sizeof path, "%s/bound", home());
  tryInChild("odd bound socket", bindSocket, path);
  tryInChild("odd socket", makeSocket, "socket");
  tryInChild("odd fifo", makeFifo, "fifo");
  tryInChild("odd bytes", touch, "\xff\xfe\x80 name");
  tryInChild("odd newline", touch, "two\nlines");
  tryInChild("odd backslash", touch, "..\\..\\windows");
  tryInChild("odd twin", touch, "twin");
  tryInChild("odd other twin", touch, "TWIN"); /* the same name on a case-insensitive file system */
  tryInChild("odd longest name", touch, longName(LONGEST_NAME, 1));
  tryInChild("odd locked file", makeLocked, "locked");
  tryInChild("odd locked folder", makeLockedFolder, "locked folder");
  tryInChild("odd setuid file", makeSetuid, "setuid");
  tryInChild("odd loop", makeLoop, "loop");
  tryInChild("odd upward link", makeUpward, "upward");
  tryInChild("odd sparse TiB", makeSparse, "sparse");
}

/* Moves the folder away and replaces it with a link to a system folder. */
void actSwap(void) {
  char away[512];
  snprintf(away, sizeof away, "%s.away", home());
  if (rename(home(), away) != 0)
    printResult("swap rename", "%s", codeName(errno));
  else
    printResult("swap link", "%s", symlink("/etc", home()) == 0 ? "placed" : codeName(errno));
}
