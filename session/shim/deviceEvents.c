#define _GNU_SOURCE
#include "deviceEvents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "originals.h"

bool isDeviceEventKind(int family, int protocol) {
  return family == AF_NETLINK && protocol == NETLINK_KOBJECT_UEVENT;
}

int openDeviceEvents(int type) {
  struct sockaddr_nl address = {.nl_family = AF_NETLINK};
  int fd = socket(AF_UNIX, SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);
  if (fd >= 0) rememberDescriptor(fd, DEVICE_EVENTS, &address, sizeof address);
  return fd;
}

bool isDeviceEvents(int fd) { return stateOf(fd, DEVICE_EVENTS) != NULL; }

int bindDeviceEvents(int fd, const struct sockaddr *address, socklen_t length) {
  struct sockaddr_nl *state = stateOf(fd, DEVICE_EVENTS);
  if (!state || length < sizeof *state || address->sa_family != AF_NETLINK) {
    errno = EINVAL;
    return -1;
  }
  memcpy(state, address, sizeof *state);
  if (state->nl_pid == 0) state->nl_pid = (unsigned)getpid();
  return 0;
}

int nameDeviceEvents(int fd, struct sockaddr *address, socklen_t *length) {
  const struct sockaddr_nl *state = stateOf(fd, DEVICE_EVENTS);
  if (!state) {
    errno = EBADF;
    return -1;
  }
  memcpy(address, state, *length < sizeof *state ? *length : sizeof *state);
  *length = sizeof *state;
  return 0;
}

/* Options that need privileges, a packet filter or netlink succeed without effect: nothing arrives that they
 * could concern. */
int setDeviceEventsOption(int fd, int level, int option, const void *value, socklen_t length) {
  if (level != SOL_SOCKET || option == SO_ATTACH_FILTER || option == SO_DETACH_FILTER ||
      option == SO_RCVBUFFORCE)
    return 0;
  return originalSetOption(fd, level, option, value, length);
}
