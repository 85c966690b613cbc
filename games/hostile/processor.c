/* Acts that start too many processes or use too much processor time. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 64, FORK_SECONDS = 3 };

static void spinUntil(double deadline) {
  while (seconds() < deadline) {
  }
}

/*
 * Half of the children compute and half leave the game's process group. All end with their parent. They start
 * computing only once there are many of them; otherwise the parent would get no processor time to start more.
 */
static void runChild(int number, double deadline) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(MAX_SECONDS + 10);
  if (number % 4 < 2) setsid();
  sleepSeconds(FORK_SECONDS);
  if (number % 2) spinUntil(deadline);
  for (;;) pause();
}

void actForkbomb(void) {
  static pid_t children[MAX_PROCESSES];
  int count = 0, failures = 0;
  double deadline = seconds() + MAX_SECONDS;
  while (count < MAX_PROCESSES && seconds() < deadline) {
    pid_t child = fork();
    if (child == 0) runChild(count, deadline);
    if (child > 0)
      children[count++] = child;
    else {
      if (failures++ == 0) printResult("forkbomb processes", "%d, %s", count, codeName(errno));
      sleepSeconds(0.001); /* then tries again */
    }
  }
  if (failures == 0) printResult("forkbomb processes", "%d, none refused", count);
  for (double left = deadline - seconds(); left > 0; left = deadline - seconds()) sleepSeconds(left);
  for (int i = 0; i < count; i++) kill(children[i], SIGKILL);
  printResult("forkbomb refusals", "%d", failures);
}

static void *spin(void *deadline) {
  spinUntil(*(double *)deadline);
  return NULL;
}

void actSpin(void) {
  static double deadline;
  pthread_t thread[THREADS];
  int count = 0;
  deadline = seconds() + MAX_SECONDS;
  while (count < THREADS && pthread_create(&thread[count], NULL, spin, &deadline) == 0) count++;
  printResult("spin threads", "%d", count);
  for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}
