#ifndef OUTPUT_TAIL_H
#define OUTPUT_TAIL_H

/*
 * The end of the game's output, at most 64 KiB, as a file in the directory of the termination report. It
 * outlives the container's log, which is removed with the pod. The game can write there too, so readers treat
 * the file as a claim (packages/contracts/src/termination.ts).
 */

/* Sets the directory. Text kept before is part of the tail. */
void openOutputTail(const char *directory);

/* Keeps the end of the text, whether or not the log takes it. */
void keepOutput(const char *text, long length);

/* Replaces the file if there is new output. */
void writeOutputTail(void);

#endif
