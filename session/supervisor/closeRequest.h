#include <stdbool.h>

/* The streamer's answer to a close request. */
struct closeReply {
  bool hasArrived;
  int asked;  /* windows that were asked to close; others do not support it */
  int open;   /* windows that are open */
  int opened; /* windows that the game has ever opened */
};

/* Asks the streamer, through its socket in this directory, to send a close request to the game's windows.
 * Returns false if there is no streamer. */
bool requestClose(const char *runDirectory);

/* Reads the answer if it has arrived, without waiting. */
struct closeReply readCloseReply(void);

/* Gives up waiting for the answer. */
void endCloseRequest(void);
