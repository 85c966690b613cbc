/*
 * Messages about pads that are plugged in and unplugged. The streamer sends them over a socket as udev does
 * over netlink: after its length, each is a list of KEY=VALUE texts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udev.h"

enum { MAX_MESSAGE = 8192 };

struct udev_monitor {
  int references;
  struct udev *udev;
  int fd;
  int unusedEnd; /* of a silent socket, or -1 */
  bool isReceiving;
  struct udev_list_entry *subsystems, *tags;
};

/* Without a streamer, the monitor is silent. */
static void connectMonitor(struct udev_monitor *monitor) {
  char path[PAD_PATH_BYTES];
  snprintf(path, sizeof path, "%s/hotplug", padFolder());
  monitor->unusedEnd = -1;
  monitor->fd = connectStreamer(path, O_CLOEXEC | O_NONBLOCK);
  int pair[2];
  if (monitor->fd >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return;
  monitor->fd = pair[0];
  monitor->unusedEnd = pair[1];
}

API struct udev_monitor *udev_monitor_new_from_netlink(struct udev *udev, const char *name) {
  if (name && strcmp(name, "udev") != 0 && strcmp(name, "kernel") != 0) {
    errno = EINVAL;
    return NULL;
  }
  struct udev_monitor *monitor = calloc(1, sizeof *monitor);
  if (!monitor) return NULL;
  monitor->references = 1;
  monitor->udev = udev_ref(udev);
  connectMonitor(monitor);
  return monitor;
}

API struct udev_monitor *udev_monitor_ref(struct udev_monitor *monitor) {
  if (monitor) monitor->references++;
  return monitor;
}

API struct udev_monitor *udev_monitor_unref(struct udev_monitor *monitor) {
  if (!monitor || --monitor->references > 0) return NULL;
  if (monitor->fd >= 0) close(monitor->fd);
  if (monitor->unusedEnd >= 0) close(monitor->unusedEnd);
  freeList(&monitor->subsystems);
  freeList(&monitor->tags);
  udev_unref(monitor->udev);
  free(monitor);
  return NULL;
}

API struct udev *udev_monitor_get_udev(struct udev_monitor *monitor) {
  return monitor ? monitor->udev : NULL;
}
API int udev_monitor_get_fd(struct udev_monitor *monitor) { return monitor ? monitor->fd : -EINVAL; }
API int udev_monitor_set_receive_buffer_size(struct udev_monitor *monitor, int size) {
  return (void)size, monitor ? 0 : -EINVAL;
}
API int udev_monitor_filter_update(struct udev_monitor *monitor) { return monitor ? 0 : -EINVAL; }

API int udev_monitor_filter_add_match_subsystem_devtype(struct udev_monitor *monitor, const char *subsystem,
                                                        const char *devtype) {
  if (!monitor || !subsystem) return -EINVAL;
  return putEntry(&monitor->subsystems, subsystem, devtype) ? 0 : -ENOMEM;
}

API int udev_monitor_filter_add_match_tag(struct udev_monitor *monitor, const char *tag) {
  if (!monitor || !tag) return -EINVAL;
  return putEntry(&monitor->tags, tag, NULL) ? 0 : -ENOMEM;
}

API int udev_monitor_filter_remove(struct udev_monitor *monitor) {
  if (!monitor) return -EINVAL;
  freeList(&monitor->subsystems);
  freeList(&monitor->tags);
  return 0;
}

API int udev_monitor_enable_receiving(struct udev_monitor *monitor) {
  static const char request[] = "udev\n";
  if (!monitor) return -EINVAL;
  if (!monitor->isReceiving) send(monitor->fd, request, sizeof request - 1, MSG_NOSIGNAL);
  monitor->isReceiving = true;
  return 0;
}

/* Reads one whole message. The streamer writes them whole, so a part is never left behind. */
static ssize_t readMessage(int fd, char *text, size_t room) {
  uint32_t length = 0;
  if (recv(fd, &length, sizeof length, MSG_DONTWAIT) != sizeof length || length >= room) return -1;
  size_t got = 0;
  for (ssize_t part; got < length; got += (size_t)part)
    if ((part = recv(fd, text + got, length - got, 0)) <= 0) return -1;
  text[length] = '\0';
  return (ssize_t)length;
}

static struct udev_device *parseMessage(struct udev *udev, const char *text, size_t length) {
  struct udev_list_entry *properties = NULL;
  for (const char *at = text; at < text + length; at += strlen(at) + 1) {
    char *pair = strdup(at), *equals = pair ? strchr(pair, '=') : NULL;
    if (equals) {
      *equals = '\0';
      putEntry(&properties, pair, equals + 1);
    }
    free(pair);
  }
  char syspath[1024];
  const char *path = entryValue(properties, "DEVPATH"), *subsystem = entryValue(properties, "SUBSYSTEM");
  snprintf(syspath, sizeof syspath, "/sys%s", path ? path : "");
  struct udev_device *device = path ? newDevice(udev, syspath) : NULL;
  if (!device) {
    freeList(&properties);
    return NULL;
  }
  freeList(&device->properties);
  device->properties = properties;
  device->subsystem = subsystem ? strdup(subsystem) : NULL;
  device->isInitialized = true;
  putEntry(&device->tags, "uaccess", NULL);
  putEntry(&device->tags, "seat", NULL);
  return device;
}

static bool isWanted(struct udev_monitor *monitor, struct udev_device *device) {
  bool hasTag = !monitor->tags, hasSubsystem = !monitor->subsystems;
  for (struct udev_list_entry *tag = monitor->tags; tag; tag = tag->next)
    hasTag = hasTag || udev_device_has_tag(device, tag->name);
  for (struct udev_list_entry *entry = monitor->subsystems; entry; entry = entry->next) {
    const char *type = udev_device_get_devtype(device);
    if (!device->subsystem || strcmp(entry->name, device->subsystem) != 0) continue;
    hasSubsystem = hasSubsystem || !entry->value || (type && strcmp(type, entry->value) == 0);
  }
  return hasTag && hasSubsystem;
}

API struct udev_device *udev_monitor_receive_device(struct udev_monitor *monitor) {
  char text[MAX_MESSAGE];
  ssize_t length;
  while (monitor && (length = readMessage(monitor->fd, text, sizeof text)) >= 0) {
    struct udev_device *device = parseMessage(monitor->udev, text, (size_t)length);
    if (device && isWanted(monitor, device)) return device;
    udev_device_unref(device);
  }
  errno = EAGAIN;
  return NULL;
}
