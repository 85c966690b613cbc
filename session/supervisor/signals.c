#define _GNU_SOURCE
#include "signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "output.h"
#include "sessionBus.h"

static int signals = -1;

void blockSignals(sigset_t *before) {
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGTERM);
  sigaddset(&mine, SIGINT);
  sigaddset(&mine, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mine, before);
  signals = signalfd(-1, &mine, SFD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN); /* a log whose reader is gone must not end the supervisor */
}

int nextSignal(long waitMs) {
  struct pollfd p[] = {{.fd = signals, .events = POLLIN},
                       {.fd = outputToRead(), .events = POLLIN},
                       {.fd = busToStart(), .events = POLLIN}};
  if (poll(p, 3, waitMs < 0 ? 0 : (int)waitMs) <= 0) return 0;
  if (p[1].revents) forwardOutput();
  if (p[2].revents) startSessionBus();
  if (!p[0].revents) return 0;
  struct signalfd_siginfo info;
  if (read(signals, &info, sizeof info) != sizeof info) return 0;
  return (int)info.ssi_signo;
}

bool isStopSignal(int number) { return number == SIGTERM || number == SIGINT; }
