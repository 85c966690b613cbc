/* More processes, and more of the processor, than anybody's share. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 64, FORK_SECONDS = 3 };

static void spinUntil(double deadline) { while (seconds() < deadline) {} }

/*
 * Every second one works, every second one leaves the game's process group; all end with their parent. They begin to work
 * when there are many of them, as the parent would get no turn to make more.
 */
static void live(int number, double deadline) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(MOST_SECONDS + 10);
  if (number % 4 < 2) setsid();
  pauseFor(FORK_SECONDS);
  if (number % 2) spinUntil(deadline);
  for (;;) pause();
}

void actForkbomb(void) {
  static pid_t children[MOST_PROCESSES];
  int count = 0, refusals = 0;
  double deadline = seconds() + MOST_SECONDS;
  while (count < MOST_PROCESSES && seconds() < deadline) {
    pid_t child = fork();
    if (child == 0) live(count, deadline);
    if (child > 0) children[count++] = child;
    else {
      if (refusals++ == 0) tell("forkbomb processes", "%d, %s", count, codeName(errno));
      pauseFor(0.001); /* and it goes on trying */
    }
  }
  if (refusals == 0) tell("forkbomb processes", "%d, none refused", count);
  for (double left = deadline - seconds(); left > 0; left = deadline - seconds()) pauseFor(left);
  for (int i = 0; i < count; i++) kill(children[i], SIGKILL);
  tell("forkbomb refusals", "%d", refusals);
}

static void *spin(void *deadline) {
  spinUntil(*(double *)deadline);
  return NULL;
}

void actSpin(void) {
  static double deadline;
  pthread_t thread[THREADS];
  int count = 0;
  deadline = seconds() + MOST_SECONDS;
  while (count < THREADS && pthread_create(&thread[count], NULL, spin, &deadline) == 0) count++;
  tell("spin threads", "%d", count);
  for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}
