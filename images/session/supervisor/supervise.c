/*
 * PID 1 of the game's container:  supervise LAUNCHER [ARG...]
 *
 * Waits for the display, the sound socket and the saves, starts the launcher in a process group of its own, hands SIGTERM on to that
 * group and kills what is left of it GAME_GRACE_SECONDS later. It keeps an account of the game, as JSON, in the termination
 * log (where it outlives the container, however that ends) and in the directory shared with the streamer.
 *
 * Environment: DISPLAY, RUN_DIR (/run/session), TERMINATION_LOG (/dev/termination-log), GAME_GRACE_SECONDS (3), AWAIT_DIRECTORY
 * (none: the game starts without waiting for saves).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"

enum {
  DISPLAY_WAIT_MS = 20000,
  DIRECTORY_WAIT_MS = 600000, /* the cluster gives the session up long before */
  POLL_MS = 20,
  ACCOUNT_EVERY_MS = 2000,
  GROUP_POLL_MS = 50,
  EXIT_USAGE = 64,
  EXIT_NO_DISPLAY = 70,
  EXIT_NO_PROCESS = 71,
  EXIT_NO_DIRECTORY = 72,
};

static const char *runDir, *terminationLog, *awaitedDirectory;
static char displaySocket[128], soundSocket[256], accountPath[256], accountDraft[256];
static long graceMs;
static long startedMs;
static int signals;
static bool stopping;
static pid_t game; /* also the process group's id */

static long nowMs(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

static void readSettings(void) {
  const char *display = setting("DISPLAY", ":99");
  runDir = setting("RUN_DIR", "/run/session");
  terminationLog = setting("TERMINATION_LOG", "/dev/termination-log");
  awaitedDirectory = setting("AWAIT_DIRECTORY", NULL);
  graceMs = strtol(setting("GAME_GRACE_SECONDS", "3"), NULL, 10) * 1000;
  snprintf(displaySocket, sizeof displaySocket, "/tmp/.X11-unix/X%s", display + strspn(display, ":"));
  snprintf(soundSocket, sizeof soundSocket, "%s/pulse.sock", runDir);
  snprintf(accountPath, sizeof accountPath, "%s/game.json", runDir);
  snprintf(accountDraft, sizeof accountDraft, "%s/game.json.new", runDir);
}

/* Overwrites first and cuts afterwards, so that being killed in between never leaves an empty file. */
static void writeWhole(const char *path, const char *text, int length) {
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return; /* the other copy of the account still serves */
  if (pwrite(fd, text, length, 0) == length && ftruncate(fd, length) != 0) { /* a device cannot be cut, nor need be */ }
  close(fd);
}

/* state is "running" or "ended"; a running game has neither reason nor exit code. */
static void account(const char *reason, int exitCode) {
  struct usage used = readUsage();
  char end[96], text[512];
  if (reason) snprintf(end, sizeof end, "\"ended\",\"reason\":\"%s\",\"exitCode\":%d", reason, exitCode);
  else snprintf(end, sizeof end, "\"running\",\"reason\":null,\"exitCode\":null");
  int length = snprintf(text, sizeof text,
    "{\"state\":%s,\"cpuSeconds\":%.3f,\"peakMemoryBytes\":%lld,\"oomKills\":%lld,\"wallSeconds\":%.3f}",
    end, used.cpuSeconds, used.peakMemoryBytes, used.oomKills, (nowMs() - startedMs) / 1000.0);
  writeWhole(terminationLog, text, length);
  unlink(accountDraft);
  writeWhole(accountDraft, text, length);
  rename(accountDraft, accountPath); /* readers never see half an account */
  if (reason) fprintf(stderr, "supervise: game ended %s\n", text);
}

static bool isSocket(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISSOCK(s.st_mode);
}

static bool isDirectory(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Takes at most one signal, waiting up to this long for it. Returns its number or 0. */
static int nextSignal(long waitMs) {
  struct pollfd p = {.fd = signals, .events = POLLIN};
  if (poll(&p, 1, waitMs < 0 ? 0 : (int)waitMs) <= 0) return 0;
  struct signalfd_siginfo info;
  if (read(signals, &info, sizeof info) != sizeof info) return 0;
  return (int)info.ssi_signo;
}

static bool isStopSignal(int number) { return number == SIGTERM || number == SIGINT; }

static bool hasDisplay(void) { return isSocket(displaySocket) && isSocket(soundSocket); }

/* The saves appear by one rename when they are complete; a game that started before would begin anew, over them. */
static bool hasSaves(void) { return !awaitedDirectory || isDirectory(awaitedDirectory); }

/* False when what is waited for did not come or the stop came first. */
static bool waitFor(bool (*isThere)(void), long forMs) {
  long deadline = nowMs() + forMs;
  while (!isThere()) {
    if (nowMs() > deadline) return false;
    if (isStopSignal(nextSignal(POLL_MS))) { stopping = true; return false; }
  }
  return true;
}

/* The exit code of a container whose game never started. */
static int giveUp(const char *reason, int code) {
  account(stopping ? "stopped" : reason, stopping ? 0 : code);
  return stopping ? 0 : code;
}

static void becomeGame(char **command, const sigset_t *before) {
  setsid();
  sigprocmask(SIG_SETMASK, before, NULL);
  char *copy = strdup(command[0]);
  if (copy && chdir(dirname(copy)) != 0) { /* a launcher finds itself by its path as well */ }
  execvp(command[0], command); /* a script without a first line for the kernel is run by sh */
  fprintf(stderr, "supervise: cannot start %s: %s\n", command[0], strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

/* Reaps whatever ended (orphans come to PID 1). True once the launcher itself has, with its wait status. */
static bool reap(int *status) {
  bool ended = false;
  int s;
  for (pid_t pid; (pid = waitpid(-1, &s, WNOHANG)) > 0;)
    if (pid == game) { *status = s; ended = true; }
  return ended;
}

static bool groupIsEmpty(void) { return kill(-game, 0) != 0 && errno == ESRCH; }

/* Runs until the launcher ended or, once told to stop, its whole group did or the grace is over. */
static int watch(void) {
  long nextAccount = nowMs() + ACCOUNT_EVERY_MS, killAt = 0;
  int status = 0;
  bool ended = false;
  for (;;) {
    long now = nowMs();
    if (stopping && (now >= killAt || (ended && groupIsEmpty()))) return status;
    if (ended && !stopping) return status;
    if (now >= nextAccount) { account(NULL, 0); nextAccount = now + ACCOUNT_EVERY_MS; }
    long wait = nextAccount - now;
    if (stopping && wait > GROUP_POLL_MS) wait = GROUP_POLL_MS; /* members other than the launcher end silently */
    int number = nextSignal(wait);
    if (number == SIGCHLD) ended = reap(&status) || ended;
    else if (isStopSignal(number) && !stopping) {
      stopping = true;
      killAt = nowMs() + graceMs;
      kill(-game, SIGTERM);
    }
  }
}

/* Writes the last account; returns the container's exit code. */
static int conclude(int status, bool forced, long long oomKillsBefore) {
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (stopping) {
    account(forced ? "stopped-by-kill" : "stopped", code);
    return 0;
  }
  char reason[24] = "exited";
  /* A launcher that is a shell reports its game's SIGKILL as exit code 137. */
  if (code == 128 + SIGKILL && readUsage().oomKills > oomKillsBefore) snprintf(reason, sizeof reason, "out-of-memory");
  else if (WIFSIGNALED(status)) snprintf(reason, sizeof reason, "signal-%d", WTERMSIG(status));
  account(reason, code);
  return code;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "supervise: give the launcher's path as the first argument.\n");
    return EXIT_USAGE;
  }
  readSettings();
  startedMs = nowMs();
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGTERM);
  sigaddset(&mine, SIGINT);
  sigaddset(&mine, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mine, &before);
  signals = signalfd(-1, &mine, SFD_CLOEXEC);

  if (!waitFor(hasDisplay, DISPLAY_WAIT_MS)) return giveUp("no-display", EXIT_NO_DISPLAY);
  if (!waitFor(hasSaves, DIRECTORY_WAIT_MS)) return giveUp("exited", EXIT_NO_DIRECTORY);
  long long oomKillsBefore = readUsage().oomKills;
  account(NULL, 0);
  game = fork();
  if (game < 0) {
    fprintf(stderr, "supervise: cannot start a process: %s\n", strerror(errno));
    account("exited", EXIT_NO_PROCESS);
    return EXIT_NO_PROCESS;
  }
  if (game == 0) becomeGame(argv + 1, &before);
  int status = watch();
  bool forced = !groupIsEmpty();
  kill(-game, SIGKILL);
  if (forced && stopping) while (waitpid(game, &status, 0) < 0 && errno == EINTR) {}
  return conclude(status, forced, oomKillsBefore);
}
