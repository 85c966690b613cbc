/*
 * PID 1 of the game's container:  supervise LAUNCHER [ARG...]
 *
 * Gives up what no game needs, for itself and so for all that it starts: system calls, limits, and the way into itself. Then it waits
 * for the display, the sound socket and the saves, starts the launcher in a process group of its own, hands on what it prints within a
 * bound, hands SIGTERM on to that group and kills what is left of it GAME_GRACE_SECONDS later.
 *
 * Environment: DISPLAY, RUN_DIR (/run/session), GAME_REPORT_DIR (/run/game), GAME_NETWORK (none, or "internet"), GAME_GRACE_SECONDS
 * (3), AWAIT_DIRECTORY (none: the game starts without waiting for saves).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "account.h"
#include "cgroup.h"
#include "clock.h"
#include "gameProcess.h"
#include "output.h"
#include "resourceLimits.h"
#include "signals.h"
#include "systemCallFilter.h"

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
  EXIT_NO_WALLS = 73,
};

static const char *awaitedDirectory;
static char displaySocket[128], soundSocket[256];
static long graceMs;
static bool stopping;

static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

static void readSettings(void) {
  const char *display = setting("DISPLAY", ":99");
  awaitedDirectory = setting("AWAIT_DIRECTORY", NULL);
  graceMs = strtol(setting("GAME_GRACE_SECONDS", "3"), NULL, 10) * 1000;
  snprintf(displaySocket, sizeof displaySocket, "/tmp/.X11-unix/X%s", display + strspn(display, ":"));
  snprintf(soundSocket, sizeof soundSocket, "%s/pulse.sock", setting("RUN_DIR", "/run/session"));
}

static bool isSocket(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISSOCK(s.st_mode);
}

static bool isDirectory(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

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
  writeAccount(stopping ? "stopped" : reason, stopping ? 0 : code);
  return stopping ? 0 : code;
}

/* Runs until the launcher ended or, once told to stop, its whole group did or the grace is over. */
static void watch(struct game *game) {
  long nextAccount = nowMs() + ACCOUNT_EVERY_MS, killAt = 0;
  bool isReaping = false;
  for (;;) {
    long now = nowMs();
    if (stopping && (now >= killAt || (game->hasEnded && groupIsEmpty(game)))) return;
    if (game->hasEnded && !stopping) return;
    if (now >= nextAccount) { writeAccount(NULL, 0); nextAccount = now + ACCOUNT_EVERY_MS; }
    long wait = isReaping ? 0 : nextAccount - now;
    if (stopping && wait > GROUP_POLL_MS) wait = GROUP_POLL_MS; /* members other than the launcher end silently */
    int number = nextSignal(wait);
    if (number == SIGCHLD || isReaping) isReaping = reap(game);
    if (isStopSignal(number) && !stopping) {
      stopping = true;
      killAt = nowMs() + graceMs;
      kill(-game->group, SIGTERM);
    }
  }
}

/* Writes the last account; returns the container's exit code. */
static int conclude(int status, bool forced, long long oomKillsBefore) {
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (stopping) {
    writeAccount(forced ? "stopped-by-kill" : "stopped", code);
    return 0;
  }
  char reason[24] = "exited";
  /* A launcher that is a shell reports its game's SIGKILL as exit code 137. */
  if (code == 128 + SIGKILL && readUsage().oomKills > oomKillsBefore) snprintf(reason, sizeof reason, "out-of-memory");
  else if (WIFSIGNALED(status)) snprintf(reason, sizeof reason, "signal-%d", WTERMSIG(status));
  writeAccount(reason, code);
  return code;
}

/* First of all: what is started before a wall stands behind it. */
static bool raiseWalls(void) {
  /* The game has the same user id: undumpable, this process's memory and descriptors are the kernel's alone. exec ends it for the game. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return false;
  setResourceLimits();
  return installSystemCallFilter(strcmp(setting("GAME_NETWORK", "none"), "internet") == 0);
}

int main(int argc, char **argv) {
  bool isWalled = raiseWalls();
  int wallError = errno;
  if (argc < 2) {
    say("give the launcher's path as the first argument.");
    return EXIT_USAGE;
  }
  readSettings();
  openAccount(setting("GAME_REPORT_DIR", "/run/game"));
  if (!isWalled) {
    say("the game is not started: this node's kernel takes no filter of system calls (seccomp): %s", strerror(wallError));
    return giveUp("exited", EXIT_NO_WALLS);
  }
  sigset_t before;
  takeSignals(&before);
  if (!waitFor(hasDisplay, DISPLAY_WAIT_MS)) return giveUp("no-display", EXIT_NO_DISPLAY);
  if (!waitFor(hasSaves, DIRECTORY_WAIT_MS)) return giveUp("exited", EXIT_NO_DIRECTORY);
  long long oomKillsBefore = readUsage().oomKills;
  writeAccount(NULL, 0);
  struct game game = {0};
  if (!startGame(&game, argv + 1, &before)) {
    say("cannot start a process: %s", strerror(errno));
    return giveUp("exited", EXIT_NO_PROCESS);
  }
  watch(&game);
  bool forced = !groupIsEmpty(&game);
  killGroup(&game);
  drainOutput();
  return conclude(game.status, forced, oomKillsBefore);
}
