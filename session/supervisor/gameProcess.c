#define _GNU_SOURCE
#include "gameProcess.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"

enum { REAPED_AT_ONCE = 256 }; /* a game that keeps starting processes must not occupy the supervisor */

/* Returns why the launcher does not run and how its publisher can fix it. */
static const char *explainFailure(const char *launcher, int failure) {
  if (failure == EACCES) return "it is not executable: run chmod +x on it and pack the game again";
  if (failure == ENOENT && access(launcher, F_OK) == 0)
    return "the interpreter in its first line (#!), or its loader, is not in the image; Windows line endings "
           "become part of the interpreter's name";
  return strerror(failure);
}

static void execGame(char **command, const sigset_t *mask, int output) {
  setsid();
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, mask, NULL);
  char *copy = strdup(command[0]);
  if (copy && chdir(dirname(copy)) != 0) { /* best effort: a launcher can find its folder from its path */
  }
  execvp(command[0], command); /* runs a script without an interpreter line in sh */
  int failure = errno;
  fprintf(stderr, "supervise: cannot start %s: %s\n", command[0], explainFailure(command[0], failure));
  _exit(failure == ENOENT ? 127 : 126);
}

bool startGame(struct game *game, char **command, const sigset_t *mask) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0,
        0); /* PID 1 is one anyway, but may be another process if the pod shares a process namespace */
  int output = openOutput();
  if (output < 0) return false;
  game->launcher = fork();
  if (game->launcher == 0) execGame(command, mask, output);
  close(output);
  return game->launcher > 0;
}

bool reap(struct game *game) {
  for (int i = 0; i < REAPED_AT_ONCE; i++) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      game->isGone = pid < 0 && errno == ECHILD;
      return false;
    }
    if (pid != game->launcher) continue;
    game->status = status;
    game->hasEnded = true;
  }
  return true;
}
