/*
 * The account of the game: what it used and how it ended, as JSON in a directory that the streamer reads. The game's processes, of the
 * same user, can write there too: readers take it for a claim.
 */

/* Names the directory; the game's time counts from here. */
void openAccount(const char *directory);

/* Replaces the account. A running game has neither reason (NULL) nor exit code. */
void writeAccount(const char *reason, int exitCode);
