#define _GNU_SOURCE
#include "processes.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_PID = 4194304,     /* the kernel's largest process id, plus one */
  MAX_PROCESSES = 32768, /* more than a pod may have */
  FREEZE_PASSES = 100,
  FREEZE_PAUSE_US = 500,
};

struct process {
  pid_t pid, parent;
  char state; /* as in /proc/PID/stat */
  int threads;
};

static struct process seen[MAX_PROCESSES];
static unsigned char isOurs[MAX_PID / 8], isFrozen[MAX_PID / 8];

static bool has(const unsigned char *set, pid_t pid) {
  return pid > 0 && pid < MAX_PID && (set[pid / 8] >> pid % 8 & 1);
}

static void add(unsigned char *set, pid_t pid) {
  if (pid > 0 && pid < MAX_PID) set[pid / 8] |= (unsigned char)(1 << pid % 8);
}

static bool readProcess(const char *name, struct process *process) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", name);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  char *afterName = strrchr(text, ')'); /* the name may contain anything */
  process->pid = (pid_t)strtol(name, NULL, 10);
  return afterName &&
         sscanf(afterName + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
                &process->state, &process->parent, &process->threads) == 3;
}

/* Fills `seen` with the descendants of this process. Returns their number. */
static int findProcesses(void) {
  DIR *folder = opendir("/proc");
  int all = 0, ours = 0;
  for (struct dirent *entry; folder && all < MAX_PROCESSES && (entry = readdir(folder));)
    if (isdigit((unsigned char)entry->d_name[0]) && readProcess(entry->d_name, &seen[all])) all++;
  if (folder) closedir(folder);
  memset(isOurs, 0, sizeof isOurs);
  add(isOurs, getpid());
  /* Children usually have higher ids than their parents, so this takes a pass or two. */
  for (bool isComplete = false; !isComplete;) {
    isComplete = true;
    for (int i = 0; i < all; i++) {
      if (has(isOurs, seen[i].pid) || !has(isOurs, seen[i].parent)) continue;
      add(isOurs, seen[i].pid);
      isComplete = false;
    }
  }
  for (int i = 0; i < all; i++)
    if (has(isOurs, seen[i].pid) && seen[i].pid != getpid()) seen[ours++] = seen[i];
  return ours;
}

/* The state is that of the first thread, which other threads can outlive. */
static bool hasExited(const struct process *process) {
  return (process->state == 'Z' && process->threads <= 1) || process->state == 'X';
}

/* Whether the process runs and may still start another one. One that waits for the kernel cannot, until the
 * kernel stops it. */
static bool mayFork(const struct process *process) {
  return !hasExited(process) && !strchr("TtD", process->state);
}

/* Stops every process, including those that are started meanwhile. Returns their number. */
static int freezeAll(void) {
  int count = 0;
  memset(isFrozen, 0, sizeof isFrozen);
  for (int pass = 0; pass < FREEZE_PASSES; pass++) {
    bool isComplete = true;
    count = findProcesses();
    for (int i = 0; i < count; i++) {
      if (mayFork(&seen[i]) || !has(isFrozen, seen[i].pid)) isComplete = false;
      if (has(isFrozen, seen[i].pid)) continue;
      add(isFrozen, seen[i].pid);
      kill(seen[i].pid, SIGSTOP);
    }
    if (isComplete) break;
    nanosleep(&(struct timespec){.tv_nsec = FREEZE_PAUSE_US * 1000L}, NULL);
  }
  return count;
}

void terminateAll(void) {
  int count = freezeAll();
  for (int i = 0; i < count; i++) kill(seen[i].pid, SIGTERM);
  for (int i = 0; i < count; i++) kill(seen[i].pid, SIGCONT);
}

void killAll(void) {
  if (getpid() == 1) {
    kill(-1, SIGKILL); /* a single step, which no process escapes by forking */
    return;
  }
  int count = findProcesses();
  for (int i = 0; i < count; i++) kill(seen[i].pid, SIGKILL);
}

bool hasProcessBesides(int pid) {
  int count = findProcesses();
  for (int i = 0; i < count; i++)
    if (seen[i].pid != pid && !hasExited(&seen[i])) return true;
  return false;
}
