#define _GNU_SOURCE
#include "cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

/* Finds this process's path below the controller's mount: the end of its line in /proc/self/cgroup. "" is
 * the controller name of version 2. */
static void findCgroupPath(const char *controller, char *path, size_t room) {
  path[0] = 0;
  FILE *f = fopen("/proc/self/cgroup", "re");
  char line[512];
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char *names = strchr(line, ':'), *rest = names ? strchr(names + 1, ':') : NULL;
    if (!rest) continue;
    *rest = 0;
    bool isMatch = *controller ? strstr(names + 1, controller) != NULL : names[1] == 0;
    if (isMatch) snprintf(path, room, "%s", strcmp(rest + 1, "/") == 0 ? "" : rest + 1);
  }
  if (f) fclose(f);
}

/* With a private cgroup namespace or mount the files are at the mount's root, otherwise below the
 * container's path. */
static FILE *openFile(const char *controller, const char *name) {
  static const char *const places[] = {"%s/%s%s/%s", "%s/cpu,%s%s/%s"};
  char own[384], path[1024];
  findCgroupPath(controller, own, sizeof own);
  for (int bare = 0; bare < 2; bare++)
    for (unsigned i = 0; i < (*controller ? 2 : 1); i++) {
      snprintf(path, sizeof path, places[i], MOUNT, controller, bare ? "" : own, name);
      FILE *f = fopen(path, "re");
      if (f) return f;
    }
  return NULL;
}

static long long readNumber(const char *controller, const char *name) {
  long long value = 0;
  FILE *f = openFile(controller, name);
  if (f && fscanf(f, "%lld", &value) != 1) value = 0;
  if (f) fclose(f);
  return value;
}

/* Returns the number after `key` in a file of "key number" lines. */
static long long readKeyed(const char *controller, const char *name, const char *key) {
  long long value = 0, found = 0;
  char k[64];
  FILE *f = openFile(controller, name);
  while (f && fscanf(f, "%63s %lld", k, &value) == 2)
    if (strcmp(k, key) == 0) found = value;
  if (f) fclose(f);
  return found;
}

static struct usage readVersion2(void) {
  static long long seen; /* kernels before 5.19 have no memory.peak, so the largest sample is used */
  long long peak = readNumber("", "memory.peak"), current = readNumber("", "memory.current");
  if (current > seen) seen = current;
  return (struct usage){
      .cpuSeconds = readKeyed("", "cpu.stat", "usage_usec") / 1e6,
      .peakMemoryBytes = peak > 0 ? peak : seen,
      .oomKills = readKeyed("", "memory.events", "oom_kill"),
  };
}

static struct usage readVersion1(void) {
  return (struct usage){
      .cpuSeconds = readNumber("cpuacct", "cpuacct.usage") / 1e9,
      .peakMemoryBytes = readNumber("memory", "memory.max_usage_in_bytes"),
      .oomKills = readKeyed("memory", "memory.oom_control", "oom_kill"),
  };
}

struct usage readUsage(void) {
  return access(MOUNT "/cgroup.controllers", F_OK) == 0 ? readVersion2() : readVersion1();
}
