#include <signal.h>
#include <stdbool.h>

/* The game: its launcher and all processes that descend from it. */
struct game {
  int launcher;  /* its process id */
  bool hasEnded; /* the launcher has ended; other processes may still run */
  bool isGone;   /* no process is left */
  int status;    /* the launcher's, as waitpid returns it */
};

/* Starts the launcher with this signal mask. Returns false when the kernel has no process or pipe left. */
bool startGame(struct game *game, char **command, const sigset_t *mask);

/* Reaps processes that have ended, orphans included. Returns true when there may be more. */
bool reap(struct game *game);
