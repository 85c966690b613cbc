/*
 * Gamepads for programs that look for them only when they start. Usually a gamepad appears when the player
 * first uses it; a launcher that sets JOYPOD_CONNECT_GAMEPADS to a number gets that many at once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "padPaths.h"

enum { ANSWER_MS = 1000 };

/* Runs before the program, which then finds the gamepads. */
__attribute__((constructor(200))) static void requestPads(void) {
  const char *wanted = getenv("JOYPOD_CONNECT_GAMEPADS");
  int count = wanted ? atoi(wanted) : 0;
  if (count <= 0) return;
  char path[PAD_PATH_BYTES], request[32];
  snprintf(path, sizeof path, "%s/hotplug", padFolder());
  snprintf(request, sizeof request, "plug %d\n", count < MAX_PADS ? count : MAX_PADS);
  int fd = connectStreamer(path, O_CLOEXEC);
  if (fd < 0) return;
  struct pollfd socket = {.fd = fd, .events = POLLIN};
  bool isSent = syscall(SYS_sendto, fd, request, strlen(request), MSG_NOSIGNAL, NULL, 0) > 0;
  if (isSent) poll(&socket, 1, ANSWER_MS);
  close(fd);
}
