#include <stddef.h>

/*
 * Notices when a folder that the game writes to has no room left: HOME, /tmp or /dev/shm. A game whose writes
 * fail often neither says so nor keeps the file, so the largest use counts, not the last one.
 */

/* Looks at the folders once. */
void sampleFolders(void);

/* Writes the names of the folders that were full, as the elements of a JSON array. */
void listFullFolders(char *text, size_t size);
