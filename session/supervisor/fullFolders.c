#define _GNU_SOURCE
#include "fullFolders.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "output.h"

enum { FULL_BELOW_BYTES = 64 * 1024 }; /* a write that fails leaves less than a page */

static struct {
  const char *name, *path;
  bool wasFull;
} folders[] = {
    {"home", NULL, false},
    {"tmp", "/tmp", false},
    {"shm", "/dev/shm", false},
};

static const size_t folderCount = sizeof folders / sizeof *folders;

static bool isFull(const char *path) {
  struct statvfs room;
  if (!path || statvfs(path, &room) != 0 || room.f_blocks == 0) return false;
  bool hasInodes = room.f_files == 0 || room.f_favail > 0;
  return !hasInodes || (unsigned long long)room.f_bavail * room.f_frsize < FULL_BELOW_BYTES;
}

void sampleFolders(void) {
  folders[0].path = getenv("HOME");
  for (size_t i = 0; i < folderCount; i++) {
    if (folders[i].wasFull || !isFull(folders[i].path)) continue;
    folders[i].wasFull = true;
    logLine("%s is full: the game cannot write to it", folders[i].path);
  }
}

void listFullFolders(char *text, size_t size) {
  *text = 0;
  for (size_t i = 0; i < folderCount; i++) {
    size_t length = strlen(text);
    if (folders[i].wasFull)
      snprintf(text + length, size - length, "%s\"%s\"", length ? "," : "", folders[i].name);
  }
}
