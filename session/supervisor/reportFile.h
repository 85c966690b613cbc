#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <stdbool.h>
#include <sys/uio.h>

/* A file in the directory that the streamer reads and the game's processes can write to. */
struct reportFile {
  char path[256], draft[256];
};

void nameReportFile(struct reportFile *file, const char *directory, const char *name);

/* Replaces the file's content; readers never see a part of it. Returns whether it succeeded. */
bool replaceReportFile(const struct reportFile *file, const struct iovec *parts, int count);

#endif
