/* Functions shared by the hostile game's acts. See README.md for what each act does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
  MEBIBYTE = 1 << 20,
  /* Limits of every act, so that a missing protection fails a test instead of taking the machine down. */
  MAX_PROCESSES = 2000,
  MAX_SECONDS = 60,
  MAX_MEMORY_MIB = 2048,
  MAX_DISK_MIB = 5000,
};

/* Prints `act NAME: RESULT`, which tests read. */
void printResult(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns an environment variable, or the fallback if it is empty. */
const char *environmentOr(const char *name, const char *fallback);

/* Returns the monotonic clock in seconds. */
double seconds(void);

void sleepSeconds(double duration);

/* Returns the errno's name, such as EPERM. */
const char *codeName(int code);

/* An operation to try. Returns -1 with errno when it failed, anything else when it succeeded. */
typedef long trial(const char *argument);

/* Runs the operation in a child process, which may be killed for it. Prints the errno's name, `allowed`,
 * or the signal. */
void tryInChild(const char *name, trial *try, const char *argument);

/* The acts by source file. */
void actSockets(void);
void actTricks(void);
void actEmulations(void);
void tryPulseAudio(void);
void actReport(void);
void actDeep(void), actNames(void), actLinks(void), actOdd(void);
void actMoving(void), actFill(void), actSwap(void);
void actForkbomb(void), actSpin(void);
void actMemory(void), actShm(void), actOutput(void);
