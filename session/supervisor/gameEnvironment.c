#define _GNU_SOURCE
#include "gameEnvironment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_VARIABLES = 32, MAX_LINE = 512 };

static const char nameCharacters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

void loadGameEnvironment(const char *folder) {
  char path[512], line[MAX_LINE];
  snprintf(path, sizeof path, "%s/game.env", folder);
  FILE *file = fopen(path, "re");
  if (!file) return;
  for (int i = 0; i < MAX_VARIABLES && fgets(line, sizeof line, file); i++) {
    line[strcspn(line, "\n")] = '\0';
    size_t name = strspn(line, nameCharacters);
    if (name == 0 || line[name] != '=') continue;
    line[name] = '\0';
    setenv(line, line + name + 1, 1);
  }
  fclose(file);
}

void removeClusterVariables(void) {
  static const char prefix[] = "KUBERNETES_";
  char name[MAX_LINE];
  for (char **variable = environ; *variable;) {
    size_t length = strcspn(*variable, "=");
    if (strncmp(*variable, prefix, strlen(prefix)) != 0 || length >= sizeof name) {
      variable++;
      continue;
    }
    memcpy(name, *variable, length);
    name[length] = '\0';
    unsetenv(name); /* moves the rest of the list up, so the next variable is in the same place */
  }
  unsetenv("HOSTNAME");
}
