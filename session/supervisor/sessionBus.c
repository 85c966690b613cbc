#define _GNU_SOURCE
#include "sessionBus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "output.h"

enum { FIRST_PASSED_FD = 3, WAITING_CONNECTIONS = 64 };

static const char program[] = "/usr/bin/dbus-daemon";
static const char configuration[] = "--config-file=/usr/local/share/joypod/session-bus.conf";
static int listener = -1, busProcess;

void offerSessionBus(const char *folder) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/bus", folder);
  if (length >= (int)sizeof address.sun_path || access(program, X_OK) != 0) return;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
      listen(fd, WAITING_CONNECTIONS) != 0) {
    logLine("cannot offer a session bus: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return;
  }
  char variable[sizeof address.sun_path + 16];
  snprintf(variable, sizeof variable, "unix:path=%s", address.sun_path);
  setenv("DBUS_SESSION_BUS_ADDRESS", variable, 1);
  listener = fd;
}

int busToStart(void) { return listener; }

/* Passes the socket as systemd does (sd_listen_fds). */
static void execBus(void) {
  char pid[16];
  setsid();
  /* A program that loses its bus may exit at once. At the end of a session, the bus ignores the signal that
   * asks the game's processes to save and exit, and outlives them. */
  sigset_t stopSignals;
  sigemptyset(&stopSignals);
  sigaddset(&stopSignals, SIGTERM);
  sigaddset(&stopSignals, SIGINT);
  sigprocmask(SIG_SETMASK, &stopSignals, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int nowhere = open("/dev/null", O_RDWR); /* its messages would bypass the limit on the game's output */
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) dup2(nowhere, fd);
  if (listener == FIRST_PASSED_FD)
    fcntl(listener, F_SETFD, 0);
  else
    dup2(listener, FIRST_PASSED_FD);
  snprintf(pid, sizeof pid, "%d", getpid());
  setenv("LISTEN_PID", pid, 1);
  setenv("LISTEN_FDS", "1", 1);
  unsetenv("LD_PRELOAD");
  execl(program, program, "--nofork", "--nopidfile", "--nosyslog", configuration, NULL);
  _exit(127);
}

void startSessionBus(void) {
  if (listener < 0) return;
  busProcess = fork();
  if (busProcess == 0) execBus();
  close(listener);
  listener = -1;
}

int sessionBusProcess(void) { return busProcess > 0 ? busProcess : 0; }
