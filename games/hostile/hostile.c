/*
 * hostile ACT: a game for tests that misbehaves, so that they see each act denied or bounded. It waits for a
 * file `begin` in its temporary folder, so that a test can observe the neighbours before and after, performs
 * the act, prints the result and keeps running.
 */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BEGIN_WAIT_SECONDS = 300, TRIAL_SECONDS = 8 };

struct act {
  const char *name;
  void (*play)(void);
  bool hasSave; /* first writes a small valid save, which must survive the act */
};

static const struct act acts[] = {
    {"sockets", actSockets, false}, {"tricks", actTricks, false}, {"emulations", actEmulations, false},
    {"report", actReport, true},    {"deep", actDeep, true},      {"names", actNames, true},
    {"links", actLinks, true},      {"odd", actOdd, true},        {"moving", actMoving, true},
    {"fill", actFill, true},        {"swap", actSwap, true},      {"forkbomb", actForkbomb, false},
    {"spin", actSpin, false},       {"memory", actMemory, true},  {"shm", actShm, true},
    {"output", actOutput, false},
};

void printResult(const char *name, const char *format, ...) {
  va_list values;
  va_start(values, format);
  printf("act %s: ", name);
  vprintf(format, values);
  putchar('\n');
  fflush(stdout);
  va_end(values);
}

const char *environmentOr(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value && *value ? value : fallback;
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void sleepSeconds(double duration) {
  struct timespec time = {.tv_sec = (time_t)duration,
                          .tv_nsec = (long)((duration - (double)(time_t)duration) * 1e9)};
  nanosleep(&time, NULL);
}

const char *codeName(int code) {
  const char *name = strerrorname_np(code);
  return name ? name : "an unknown error";
}

static void printOutcome(const char *name, int status) {
  if (WIFSIGNALED(status))
    printResult(name, "killed by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) == 0)
    printResult(name, "allowed");
  else
    printResult(name, "%s", codeName(WEXITSTATUS(status)));
}

void tryInChild(const char *name, trial *try, const char *argument) {
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) {
    printResult(name, "could not be tried: %s", codeName(errno));
    return;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(TRIAL_SECONDS);
    errno = 0;
    long result = try(argument);
    _exit(result == -1 ? (errno ? errno : 255) : 0);
  }
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  printOutcome(name, status);
}

static void writeProgress(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/progress", environmentOr("HOME", "/tmp"));
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool isWritten = file >= 0 && write(file, "half way\n", 9) == 9;
  if (file >= 0) close(file);
  printResult("progress", "%s", isWritten ? "written" : codeName(errno));
}

static bool waitToBegin(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/begin", environmentOr("XDG_RUNTIME_DIR", "/tmp"));
  for (double deadline = seconds() + BEGIN_WAIT_SECONDS; seconds() < deadline; sleepSeconds(0.1))
    if (access(path, F_OK) == 0) return true;
  return false;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
    if (argc != 2 || strcmp(argv[1], acts[i].name) != 0) continue;
    if (acts[i].hasSave) writeProgress();
    printResult(acts[i].name, "waits");
    if (!waitToBegin()) {
      printResult(acts[i].name, "was never told to begin");
      return 1;
    }
    printResult(acts[i].name, "begins");
    acts[i].play();
    printResult(acts[i].name, "done");
    for (;;) pause();
  }
  fprintf(stderr, "hostile: give one of the acts that README.md lists.\n");
  return 64;
}
