#define _GNU_SOURCE
#include "runtimeFolder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "sessionBus.h"

enum { ID_BYTES = 16, ID_DIGITS = 2 * ID_BYTES };

static bool isMachineId(const char *text) {
  return text && strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdef") == ID_DIGITS;
}

static bool writeMachineId(const char *folder, const char *given) {
  char path[256], id[ID_DIGITS + 2] = "";
  if (isMachineId(given)) {
    strcpy(id, given);
  } else {
    unsigned char bytes[ID_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (int i = 0; i < ID_BYTES; i++) sprintf(id + 2 * i, "%02x", bytes[i]);
  }
  strcat(id, "\n");
  snprintf(path, sizeof path, "%s/machine-id", folder);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (file < 0) return false;
  bool isWritten = write(file, id, strlen(id)) == (ssize_t)strlen(id);
  close(file);
  return isWritten;
}

void prepareRuntimeFolder(const char *folder, const char *machineId) {
  if (!folder) return;
  /* The mode is set again, because mkdir applies the umask and an existing folder keeps its mode. */
  if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || chmod(folder, 0700) != 0 ||
      !writeMachineId(folder, machineId))
    logLine("cannot prepare XDG_RUNTIME_DIR: %s", strerror(errno)); /* the game can run without it */
  else
    offerSessionBus(folder);
}
