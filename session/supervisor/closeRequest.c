#define _GNU_SOURCE
#include "closeRequest.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "close.sock"

static int connection = -1;
static struct closeReply reply;

bool requestClose(const char *runDirectory) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", runDirectory, SOCKET_NAME);
  reply = (struct closeReply){0};
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address) != 0)
    endCloseRequest();
  return connection >= 0;
}

struct closeReply readCloseReply(void) {
  char text[96];
  if (connection < 0 || reply.hasArrived) return reply;
  ssize_t length = read(connection, text, sizeof text - 1);
  if (length <= 0) return reply;
  text[length] = 0;
  reply.hasArrived =
      sscanf(text, "asked %d open %d opened %d", &reply.asked, &reply.open, &reply.opened) == 3;
  return reply;
}

void endCloseRequest(void) {
  if (connection >= 0) close(connection);
  connection = -1;
}
