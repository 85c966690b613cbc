#define _GNU_SOURCE
#include "bypassingPrograms.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

enum { MAX_NOTES = 4096, MAX_LINES = 16, MAX_PATH_SHOWN = 200 };

/* Opens the shim's notes. The game owns the folder, so the file may be anything. */
static int openNotes(void) {
  char path[512];
  struct stat s;
  const char *folder = getenv("JOYPOD_LOOPBACK");
  snprintf(path, sizeof path, "%s/programs", folder && *folder ? folder : "/tmp/.loopback");
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file >= 0 && (fstat(file, &s) != 0 || !S_ISREG(s.st_mode))) {
    close(file);
    return -1;
  }
  return file;
}

static void reportProgram(char *path) {
  for (char *c = path; *c; c++)
    if (!isprint((unsigned char)*c)) *c = '?';
  logLine("%.*s is statically linked or written in Go. It bypasses the preloaded library, which provides "
          "loopback sockets, file watches and gamepads: opening a TCP or UDP socket fails with EAFNOSUPPORT",
          MAX_PATH_SHOWN, path);
}

void reportBypassingPrograms(void) {
  static int lines;
  static off_t reported;
  char notes[MAX_NOTES + 1];
  int file = lines < MAX_LINES ? openNotes() : -1;
  if (file < 0) return;
  ssize_t size = pread(file, notes, MAX_NOTES - (size_t)reported, reported);
  close(file);
  notes[size > 0 ? size : 0] = '\0';
  for (char *line = notes, *end; lines < MAX_LINES && (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    reported += end + 1 - line;
    reportProgram(line);
    lines++;
  }
}
