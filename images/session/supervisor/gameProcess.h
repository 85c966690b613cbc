#include <signal.h>
#include <stdbool.h>

/* The game: its launcher and what that starts, in a process group of their own. */
struct game {
  int group; /* also the launcher's process */
  bool hasEnded; /* the launcher has; others of the group may go on */
  int status; /* the launcher's, as waitpid gives it */
};

/* Starts the launcher with this signal mask. False when the kernel has no process or pipe for it. */
bool startGame(struct game *game, char **command, const sigset_t *mask);

/* Reaps some of what has ended (orphans come here). True when there may be more. */
bool reap(struct game *game);

bool groupIsEmpty(const struct game *game);

/* Kills what is left of the group and, if the launcher is among it, waits for that. */
void killGroup(struct game *game);
