/*
 * PID 1 of the game container: supervise LAUNCHER [ARG...]
 *
 * First it enters a sandbox that applies to everything it starts: a system call filter, resource limits, and
 * no access to the supervisor itself. Then it waits for the display, the sound socket and the saves, loads
 * the streamer's rendering variables, starts the launcher in a new process group, forwards its output at a
 * limited rate, forwards SIGTERM to the group, and kills the rest of it GAME_GRACE_SECONDS later.
 *
 * Environment: DISPLAY, RUN_DIR (/run/session), GAME_REPORT_DIR (/run/game), GAME_NETWORK (none, or
 * "internet"), GAME_GRACE_SECONDS (3), AWAIT_DIRECTORY (none: start without waiting for saves),
 * XDG_RUNTIME_DIR (none: no folder of that kind), JOYPOD_MACHINE_ID (random).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "terminationReport.h"
#include "bypassingPrograms.h"
#include "cgroup.h"
#include "clock.h"
#include "gameEnvironment.h"
#include "gameProcess.h"
#include "output.h"
#include "resourceLimits.h"
#include "runtimeFolder.h"
#include "signals.h"
#include "systemCallFilter.h"

enum {
  DISPLAY_WAIT_MS = 30000,    /* the display may be probed first */
  DIRECTORY_WAIT_MS = 600000, /* the cluster ends the session much earlier */
  POLL_MS = 20,
  REPORT_EVERY_MS = 2000,
  GROUP_POLL_MS = 50,
  EXIT_USAGE = 64,
  EXIT_NO_DISPLAY = 70,
  EXIT_NO_PROCESS = 71,
  EXIT_NO_DIRECTORY = 72,
  EXIT_NO_SANDBOX = 73,
};

static const char *awaitedDirectory;
static char displaySocket[128], soundSocket[256];
static long graceMs;
static bool stopping;

static const char *environmentOr(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value && *value ? value : fallback;
}

static void readEnvironment(void) {
  const char *display = environmentOr("DISPLAY", ":99");
  awaitedDirectory = environmentOr("AWAIT_DIRECTORY", NULL);
  graceMs = strtol(environmentOr("GAME_GRACE_SECONDS", "3"), NULL, 10) * 1000;
  snprintf(displaySocket, sizeof displaySocket, "/tmp/.X11-unix/X%s", display + strspn(display, ":"));
  snprintf(soundSocket, sizeof soundSocket, "%s/pulse.sock", environmentOr("RUN_DIR", "/run/session"));
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

/* The saves appear with one rename when they are complete. A game that started earlier would overwrite
 * them with a new playthrough. */
static bool hasSaves(void) { return !awaitedDirectory || isDirectory(awaitedDirectory); }

/* Waits up to this long for one signal. Returns whether the game must stop. */
static bool waitForStop(long waitMs) {
  if (isStopSignal(nextSignal(waitMs))) stopping = true;
  return stopping;
}

/* Returns false when the deadline passes or a stop signal arrives first. */
static bool waitUntil(bool (*isReady)(void), long forMs) {
  long deadline = nowMs() + forMs;
  while (!isReady()) {
    if (nowMs() > deadline) return false;
    if (waitForStop(POLL_MS)) return false;
  }
  return true;
}

/* Writes the report of a game that never started. Returns the container's exit code. */
static int giveUp(const char *reason, int code) {
  writeTerminationReport(stopping ? "stopped" : reason, stopping ? 0 : code);
  return stopping ? 0 : code;
}

/* Returns when the launcher has ended. After a stop, returns when the whole group has ended or the grace
 * period is over. */
static void watch(struct game *game) {
  long nextReport = nowMs() + REPORT_EVERY_MS, killAt = 0;
  bool isReaping = false;
  for (;;) {
    long now = nowMs();
    if (stopping && (now >= killAt || (game->hasEnded && isGroupEmpty(game)))) return;
    if (game->hasEnded && !stopping) return;
    if (now >= nextReport) {
      writeTerminationReport(NULL, 0);
      reportBypassingPrograms();
      nextReport = now + REPORT_EVERY_MS;
    }
    long wait = isReaping ? 0 : nextReport - now;
    if (stopping && wait > GROUP_POLL_MS)
      wait = GROUP_POLL_MS; /* no signal reports the end of group members other than the launcher */
    int number = nextSignal(wait);
    if (number == SIGCHLD || isReaping) isReaping = reap(game);
    if (isStopSignal(number) && !stopping) {
      stopping = true;
      killAt = nowMs() + graceMs;
      signalGame(game, SIGTERM);
    }
  }
}

/* Writes the last report. Returns the container's exit code. */
static int reportEnd(int status, bool forced, long long oomKillsBefore) {
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (stopping) {
    writeTerminationReport(forced ? "stopped-by-kill" : "stopped", code);
    return 0;
  }
  char reason[24] = "exited";
  /* A shell launcher reports its game's SIGKILL as exit code 137. */
  if (code == 128 + SIGKILL && readUsage().oomKills > oomKillsBefore)
    snprintf(reason, sizeof reason, "out-of-memory");
  else if (WIFSIGNALED(status))
    snprintf(reason, sizeof reason, "signal-%d", WTERMSIG(status));
  writeTerminationReport(reason, code);
  return code;
}

/* Must come first: anything started earlier is outside the sandbox. */
static bool enterSandbox(void) {
  /* The game has the same user id. Because this process is not dumpable, the game cannot open its memory
   * or descriptors. exec makes the game dumpable again. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return false;
  setResourceLimits();
  return installSystemCallFilter(strcmp(environmentOr("GAME_NETWORK", "none"), "internet") == 0);
}

int main(int argc, char **argv) {
  sigset_t before;
  /* Must come first: as PID 1, this process would never see a SIGTERM that arrives before it blocks or
   * handles it, and loading the filter takes a while. */
  blockSignals(&before);
  bool isSandboxed = enterSandbox();
  int sandboxError = errno;
  if (argc < 2) {
    logLine("the first argument must be the launcher's path");
    return EXIT_USAGE;
  }
  readEnvironment();
  openTerminationReport(environmentOr("GAME_REPORT_DIR", "/run/game"));
  if (!isSandboxed) {
    logLine("the game cannot start: this node's kernel does not support the system call filter (seccomp): %s",
            strerror(sandboxError));
    return giveUp("exited", EXIT_NO_SANDBOX);
  }
  if (!waitUntil(hasDisplay, DISPLAY_WAIT_MS)) return giveUp("no-display", EXIT_NO_DISPLAY);
  if (!waitUntil(hasSaves, DIRECTORY_WAIT_MS)) return giveUp("exited", EXIT_NO_DIRECTORY);
  loadGameEnvironment(environmentOr("RUN_DIR", "/run/session"));
  removeClusterVariables();
  prepareRuntimeFolder(environmentOr("XDG_RUNTIME_DIR", NULL), environmentOr("JOYPOD_MACHINE_ID", NULL));
  long long oomKillsBefore = readUsage().oomKills;
  writeTerminationReport(NULL, 0);
  if (waitForStop(0))
    return giveUp("stopped", 0); /* waitUntil reads no signal if nothing had to be waited for */
  struct game game = {0};
  if (!startGame(&game, argv + 1, &before)) {
    logLine("cannot start a process: %s", strerror(errno));
    return giveUp("exited", EXIT_NO_PROCESS);
  }
  watch(&game);
  bool forced = !isGroupEmpty(&game);
  killGroup(&game);
  drainOutput();
  reportBypassingPrograms();
  return reportEnd(game.status, forced, oomKillsBefore);
}
