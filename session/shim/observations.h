/*
 * What a game was refused, what it lacked and what this library answered for it, as lines of kind and detail
 * in the file JOYPOD_OBSERVATIONS. Without the variable nothing is written: only sessions that verify a
 * version of a game set it. The game can write to the file too, so readers treat it as a claim
 * (packages/contracts/src/observations.ts, which also lists the kinds).
 */
#pragma once

/* Notes this once per process. Keeps errno. */
void observe(const char *kind, const char *detail);

/* Notes a failed call that would have changed this path, if the reason is that it may not be written. Keeps
 * errno. */
void observeRefusedWrite(int folder, const char *path);

/* Does so if the call failed and its flags ask for writing. Returns the descriptor. */
int observedOpen(int fd, int folder, const char *path, int flags);
