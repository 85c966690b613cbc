/*
 * All processes of the game: the descendants of this process, whatever group or session they are in. Orphans
 * become children of this process, so none leaves the tree.
 */

#include <stdbool.h>

/* Returns whether a process exists that has not ended, besides this one. */
bool hasProcessBesides(int pid);

/* Sends SIGTERM once to every process that exists now, and continues stopped ones. Processes that these start
 * in response get no signal, because they may be saving the game. */
void terminateAll(void);

/* Sends SIGKILL to every process. */
void killAll(void);
