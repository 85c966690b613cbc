/* Functions that the acts of the hostile game share; README.md says what each act does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
  MEBIBYTE = 1 << 20,
  /* Bounds that every act keeps to by itself, so that a missing protection fails a test and does not take the
     machine down. */
  MAX_PROCESSES = 2000,
  MAX_SECONDS = 60,
  MAX_MEMORY_MIB = 2048,
  MAX_DISK_MIB = 5000,
};

/* Prints `act NAME: RESULT`, which tests read. */
void printResult(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the value of an environment variable, or the fallback for an empty one. */
const char *environmentOr(const char *name, const char *fallback);

/* Returns seconds of the monotonic clock. */
double seconds(void);

void sleepSeconds(double duration);

/* Returns the errno's name, such as EPERM. */
const char *codeName(int code);

/* An operation to try: returns -1 with errno when it failed, anything else when it succeeded. */
typedef long trial(const char *argument);

/* Runs the trial in a process of its own, which may be killed for it, and prints the errno's name, `allowed`,
 * or the signal. */
void tryInChild(const char *name, trial *try, const char *argument);

/* The acts, by the files they are in. */
void actSockets(void);
void actTricks(void);
void tryPulseAudio(void);
void actReport(void);
void actDeep(void), actNames(void), actLinks(void), actOdd(void);
void actMoving(void), actFill(void), actSwap(void);
void actForkbomb(void), actSpin(void);
void actMemory(void), actShm(void), actOutput(void);
