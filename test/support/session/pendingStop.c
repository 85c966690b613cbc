/* pendingStop PROGRAM [ARG...]: runs the program with a SIGTERM that is pending, as one is that came while
 * the program did not look. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, NULL);
  kill(getpid(), SIGTERM);
  if (argc > 1) execv(argv[1], argv + 1);
  perror("pendingStop");
  return 1;
}
