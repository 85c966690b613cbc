#include <signal.h>
#include <stdbool.h>

/* The game: its launcher and the processes that it starts, in one process group. */
struct game {
  int group;     /* also the launcher's process id */
  bool hasEnded; /* the launcher has ended; other processes may still run */
  int status;    /* the launcher's, as waitpid returns it */
};

/* Starts the launcher with this signal mask. Returns false when the kernel has no process or pipe left. */
bool startGame(struct game *game, char **command, const sigset_t *mask);

/* Reaps processes that have ended, orphans included. Returns true when there may be more. */
bool reap(struct game *game);

/* Sends the signal to the game's group. */
void signalGame(const struct game *game, int number);

bool isGroupEmpty(const struct game *game);

/* Kills the rest of the group, and waits for the launcher if it is part of it. */
void killGroup(struct game *game);
