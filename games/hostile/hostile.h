/* What the acts of the hostile game share; README.md says what each act does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
  MEBIBYTE = 1 << 20,
  /* What every act keeps to by itself, so that a missing wall turns a test red and not the machine dead. */
  MOST_PROCESSES = 2000,
  MOST_SECONDS = 60,
  MOST_MEMORY_MIB = 2048,
  MOST_DISK_MIB = 5000,
};

/* Prints `act NAME: RESULT`, which tests read. */
void tell(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The value of an environment variable, or what stands in for an empty one. */
const char *setting(const char *name, const char *otherwise);

/* Seconds of the monotonic clock. */
double seconds(void);

void pauseFor(double forSeconds);

/* The errno's name, such as EPERM. */
const char *codeName(int code);

/* Something that is tried: -1 with errno, or anything else when it went through. */
typedef long trial(const char *argument);

/* Tries it in a process of its own, as a wall may also kill, and tells the errno's name, `allowed`, or the signal. */
void attempt(const char *name, trial *try, const char *argument);

/* The acts, by the files they are in. */
void actSockets(void);
void actTricks(void);
void tryPulseAudio(void);
void actReport(void);
void actDeep(void), actNames(void), actLinks(void), actOdd(void);
void actMoving(void), actFill(void), actSwap(void);
void actForkbomb(void), actSpin(void);
void actMemory(void), actShm(void), actOutput(void);
