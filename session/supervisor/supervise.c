/*
 * PID 1 of the game container: supervise LAUNCHER [ARG...]
 *
 * First it enters a sandbox that applies to everything it starts: a system call filter, resource limits, and
 * no access to the supervisor itself. Then it waits for the display, the sound socket and the saves, loads
 * the streamer's rendering variables, starts the launcher in a new process group, and forwards its output at
 * a limited rate. A stop, or the launcher's end, ends all processes of the game: their windows get a close
 * request, a second later the processes get SIGTERM, and GAME_GRACE_SECONDS later SIGKILL.
 *
 * Environment: DISPLAY, RUN_DIR (/run/session), GAME_REPORT_DIR (/run/game), GAME_NETWORK (none, or
 * "internet"), GAME_GRACE_SECONDS (5), AWAIT_DIRECTORY (none: start without waiting for saves),
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
#include "closeRequest.h"
#include "fullFolders.h"
#include "gameEnvironment.h"
#include "gameProcess.h"
#include "output.h"
#include "processes.h"
#include "resourceLimits.h"
#include "runtimeFolder.h"
#include "sessionBus.h"
#include "signals.h"
#include "systemCallFilter.h"

enum {
  DISPLAY_WAIT_MS = 30000,    /* the display may be probed first */
  DIRECTORY_WAIT_MS = 600000, /* the cluster ends the session much earlier */
  POLL_MS = 20,
  REPORT_EVERY_MS = 2000,
  SAMPLE_EVERY_MS = 250,
  SETTLE_MS = 100, /* processes that end with the launcher do so within this time */
  CLOSE_MS = 1000, /* from the close request to SIGTERM */
  KILL_MS = 2000,  /* processes that wait for the kernel end late */
  BUS_POLL_MS = 50,
  KILL_AGAIN_MS = 50, /* other processes may have forked meanwhile */
  EXIT_USAGE = 64,
  EXIT_NO_DISPLAY = 70,
  EXIT_NO_PROCESS = 71,
  EXIT_NO_DIRECTORY = 72,
  EXIT_NO_SANDBOX = 73,
};

static const char *awaitedDirectory;
static const char *runDirectory;
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
  graceMs = strtol(environmentOr("GAME_GRACE_SECONDS", "5"), NULL, 10) * 1000;
  snprintf(displaySocket, sizeof displaySocket, "/tmp/.X11-unix/X%s", display + strspn(display, ":"));
  runDirectory = environmentOr("RUN_DIR", "/run/session");
  snprintf(soundSocket, sizeof soundSocket, "%s/pulse.sock", runDirectory);
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
  code = stopping ? 0 : code;
  writeTerminationReport((struct gameEnd){.reason = stopping ? "stopped" : reason, .exitCode = code});
  return code;
}

/* Waits until this time at most for something to happen, reaps processes, and does what is due meanwhile. */
static void supervise(struct game *game, long untilMs) {
  static long nextReport, nextSample;
  static bool isReaping;
  long now = nowMs();
  if (now >= nextSample) {
    sampleFolders();
    nextSample = now + SAMPLE_EVERY_MS;
  }
  if (now >= nextReport) {
    if (nextReport) {
      writeTerminationReport((struct gameEnd){0});
      reportBypassingPrograms();
    }
    nextReport = now + REPORT_EVERY_MS;
  }
  long wait = untilMs < nextSample ? untilMs - now : nextSample - now;
  int number = nextSignal(isReaping ? 0 : wait);
  if (number == SIGCHLD || isReaping) isReaping = reap(game);
  if (isStopSignal(number)) stopping = true;
}

/* Waits for the game's last process until this time. Returns whether it has ended. The session bus outlives
 * the game, and no signal reports the end of a service that the bus has started. */
static bool awaitEnd(struct game *game, long untilMs) {
  while (!game->isGone && nowMs() < untilMs) {
    int bus = sessionBusProcess();
    if (bus && !hasProcessBesides(bus)) {
      while (reap(game)) { /* the launcher's status may not have been read yet */
      }
      game->isGone = true;
    } else
      supervise(game, bus && untilMs > nowMs() + BUS_POLL_MS ? nowMs() + BUS_POLL_MS : untilMs);
  }
  return game->isGone;
}

/* Asks the game's windows to close, and waits for the end of its processes. Does not wait if no window
 * supports the request. Returns the streamer's answer. */
static struct closeReply closeWindows(struct game *game) {
  long untilMs = nowMs() + CLOSE_MS;
  struct closeReply reply = {0};
  if (!requestClose(runDirectory)) return reply;
  while (!game->isGone && nowMs() < untilMs) {
    reply = readCloseReply();
    if (reply.hasArrived && reply.asked == 0) break;
    awaitEnd(game, reply.hasArrived ? untilMs : nowMs() + POLL_MS);
  }
  reply = readCloseReply(); /* the game may have ended first */
  endCloseRequest();
  return reply;
}

/* Returns whether the game outlived its launcher. What is left of a game whose windows are closed is its
 * helper processes. */
static bool hasOutlived(struct closeReply reply, int status) {
  if (!reply.hasArrived) return false;
  return reply.open > 0 || (reply.opened == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Ends all processes of the game: those that a stop is for, or those that the launcher has left. */
static struct gameEnd endGame(struct game *game) {
  struct gameEnd end = {.endedBy = "itself"};
  bool isStop = stopping;
  if (awaitEnd(game, nowMs() + (isStop ? 1 : SETTLE_MS))) return end;
  struct closeReply reply = closeWindows(game);
  end.hasOutlivedLauncher = !isStop && hasOutlived(reply, game->status);
  if (end.hasOutlivedLauncher)
    logLine("the launcher exited while the game was still running: start the game with exec, or wait for it");
  end.endedBy = "close-request";
  if (game->isGone) return end;
  end.endedBy = "sigterm";
  terminateAll();
  if (awaitEnd(game, nowMs() + graceMs)) return end;
  end.endedBy = "sigkill";
  logLine("the game did not end within %ld s and is killed", graceMs / 1000);
  for (long untilMs = nowMs() + KILL_MS; !game->isGone && nowMs() < untilMs;) {
    killAll();
    awaitEnd(game, nowMs() + KILL_AGAIN_MS);
  }
  return end;
}

/* Returns the reason of the end, given the launcher's status and code. */
static const char *reasonOf(int status, int code, long long oomKillsBefore) {
  static char reason[24] = "exited";
  /* A shell launcher reports its game's SIGKILL as exit code 137. */
  if (code == 128 + SIGKILL && readUsage().oomKills > oomKillsBefore)
    snprintf(reason, sizeof reason, "out-of-memory");
  else if (WIFSIGNALED(status))
    snprintf(reason, sizeof reason, "signal-%d", WTERMSIG(status));
  return reason;
}

/* Waits for a stop or the launcher's end, ends the game and writes the last report. Returns the container's
 * exit code. */
static int runGame(struct game *game, long long oomKillsBefore) {
  while (!game->hasEnded && !stopping) supervise(game, nowMs() + REPORT_EVERY_MS);
  bool isStop = stopping;
  struct gameEnd end = endGame(game);
  if (!game->hasEnded) game->status = SIGKILL; /* it waits for the kernel */
  sampleFolders();
  drainOutput();
  reportBypassingPrograms();
  end.exitCode = WIFSIGNALED(game->status) ? 128 + WTERMSIG(game->status) : WEXITSTATUS(game->status);
  if (isStop)
    end.reason = strcmp(end.endedBy, "sigkill") == 0 ? "stopped-by-kill" : "stopped";
  else
    end.reason = reasonOf(game->status, end.exitCode, oomKillsBefore);
  writeTerminationReport(end);
  return isStop ? 0 : end.exitCode;
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
  loadGameEnvironment(runDirectory);
  removeClusterVariables();
  prepareRuntimeFolder(environmentOr("XDG_RUNTIME_DIR", NULL), environmentOr("JOYPOD_MACHINE_ID", NULL));
  long long oomKillsBefore = readUsage().oomKills;
  writeTerminationReport((struct gameEnd){0});
  if (waitForStop(0))
    return giveUp("stopped", 0); /* waitUntil reads no signal if nothing had to be waited for */
  struct game game = {0};
  if (!startGame(&game, argv + 1, &before)) {
    logLine("cannot start a process: %s", strerror(errno));
    return giveUp("exited", EXIT_NO_PROCESS);
  }
  return runGame(&game, oomKillsBefore);
}
