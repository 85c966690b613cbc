/* Save folders that are hard to walk: deep, broad, full of what is no file, or elsewhere. */
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

static const char *home(void) { return setting("HOME", "/tmp"); }
static int openHome(void) { return open(home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/* A name of that length, ending in a number. */
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
  int file = folder < 0 ? -1 : openat(folder, "treasure", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  tell("deep folders", "%d, %s", depth, file < 0 ? codeName(errno) : "with a file");
}

void actNames(void) {
  int folder = openHome(), made = 0, code = 0;
  for (double deadline = seconds() + NAMES_SECONDS; made < NAMES && (made % 1000 || seconds() < deadline); made++) {
    int file = openat(folder, longName(LONGEST_NAME, made), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) { code = errno; break; }
    close(file);
    if (made % 50000 == 0) tell("names so far", "%d", made); /* the next one may end in being killed */
  }
  tell("names made", "%d, %s", made, code ? codeName(code) : "none refused");
}

void actLinks(void) {
  int folder = openHome(), made = 0, code = 0;
  char name[32];
  while (made < LINKS && code == 0) {
    snprintf(name, sizeof name, "link-%d", made);
    int result = made % 2 ? linkat(folder, "progress", folder, name, 0) : symlinkat(made % 4 ? "/etc/passwd" : name, folder, name);
    if (result == 0) made++; else code = errno;
  }
  tell("links made", "%d, %s", made, code ? codeName(code) : "none refused");
}

static long bindSocket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : bind(s, (struct sockaddr *)&address, sizeof address);
}

static long touch(const char *name) { return openat(openHome(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0 ? -1 : 0; }
static long makeFifo(const char *name) { return mkfifoat(openHome(), name, 0666); }
static long makeSocket(const char *name) { return mknodat(openHome(), name, S_IFSOCK | 0666, 0); }
static long makeLocked(const char *name) { return touch(name) != 0 ? -1 : fchmodat(openHome(), name, 0, 0); }
static long makeLockedFolder(const char *name) {
  return mkdirat(openHome(), name, 0755) != 0 ? -1 : fchmodat(openHome(), name, 0, 0);
}
static long makeSetuid(const char *name) { return touch(name) != 0 ? -1 : fchmodat(openHome(), name, 06777, 0); }
static long makeSparse(const char *name) {
  int file = openat(openHome(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return file < 0 ? -1 : ftruncate(file, (off_t)1 << 40);
}
static long makeLoop(const char *name) { return symlinkat(name, openHome(), name); }
static long makeUpward(const char *name) { return symlinkat("..", openHome(), name); }

void actOdd(void) {
  char path[108];
  snprintf(path, sizeof path, "%s/bound", home());
  attempt("odd bound socket", bindSocket, path);
  attempt("odd socket", makeSocket, "socket");
  attempt("odd fifo", makeFifo, "fifo");
  attempt("odd bytes", touch, "\xff\xfe\x80 name");
  attempt("odd newline", touch, "two\nlines");
  attempt("odd backslash", touch, "..\\..\\windows");
  attempt("odd twin", touch, "twin");
  attempt("odd other twin", touch, "TWIN"); /* the same name where case does not count */
  attempt("odd longest name", touch, longName(LONGEST_NAME, 1));
  attempt("odd locked file", makeLocked, "locked");
  attempt("odd locked folder", makeLockedFolder, "locked folder");
  attempt("odd setuid file", makeSetuid, "setuid");
  attempt("odd loop", makeLoop, "loop");
  attempt("odd upward link", makeUpward, "upward");
  attempt("odd sparse TiB", makeSparse, "sparse");
}

/* The folder itself goes away, and a link to one of the system's stands in its place. */
void actSwap(void) {
  char away[512];
  snprintf(away, sizeof away, "%s.away", home());
  if (rename(home(), away) != 0) tell("swap rename", "%s", codeName(errno));
  else tell("swap link", "%s", symlink("/etc", home()) == 0 ? "placed" : codeName(errno));
}
