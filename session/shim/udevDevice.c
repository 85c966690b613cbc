/* Devices as the files of /sys and of udev's database describe them. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "udev.h"

enum { PATH_BYTES = 1024 };

/* Returns the name of what a link in a device's folder points to, which the caller frees, or NULL. */
static char *readLinkName(const char *syspath, const char *link) {
  char path[PATH_BYTES], buffer[PAD_PATH_BYTES], target[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/%s", syspath, link) >= (int)sizeof path) return NULL;
  ssize_t length = readlink(locateSystemPath(path, buffer), target, sizeof target - 1);
  if (length <= 0) return NULL;
  target[length] = '\0';
  char *slash = strrchr(target, '/');
  return strdup(slash ? slash + 1 : target);
}

static void putProperty(struct udev_device *device, char *line) {
  char *equals = strchr(line, '=');
  if (!equals) return;
  *equals = '\0';
  if (strcmp(line, "DEVNAME") == 0 && equals[1] != '/') {
    char node[PATH_BYTES];
    snprintf(node, sizeof node, "/dev/%s", equals + 1);
    putEntry(&device->properties, line, node);
  } else {
    putEntry(&device->properties, line, equals + 1);
  }
  *equals = '=';
}

static void readKernelProperties(struct udev_device *device) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/uevent", device->syspath);
  char *text = readText(path), *rest = text;
  for (char *line; text && (line = strsep(&rest, "\n"));) putProperty(device, line);
  free(text);
}

/* Writes the name of a device's entry in udev's database. */
static void describeId(struct udev_device *device, char *id, size_t room) {
  const char *major = entryValue(device->properties, "MAJOR");
  const char *minor = entryValue(device->properties, "MINOR");
  bool isBlock = device->subsystem && strcmp(device->subsystem, "block") == 0;
  if (major && minor)
    snprintf(id, room, "%c%s:%s", isBlock ? 'b' : 'c', major, minor);
  else
    snprintf(id, room, "+%s:%s", device->subsystem ? device->subsystem : "", udev_device_get_sysname(device));
}

static void readDatabase(struct udev_device *device) {
  char id[PATH_BYTES / 2], path[PATH_BYTES];
  describeId(device, id, sizeof id);
  snprintf(path, sizeof path, "/run/udev/data/%s", id);
  char *text = readText(path), *rest = text;
  for (char *line; text && (line = strsep(&rest, "\n"));) {
    if (line[0] == '\0' || line[1] != ':') continue;
    if (line[0] == 'E') putProperty(device, line + 2);
    if (line[0] == 'G' || line[0] == 'Q') putEntry(&device->tags, line + 2, NULL);
    if (line[0] == 'I') device->isInitialized = true;
  }
  free(text);
}

struct udev_device *newDevice(struct udev *udev, const char *syspath) {
  struct udev_device *device = calloc(1, sizeof *device);
  if (!device) return NULL;
  device->references = 1;
  device->udev = udev_ref(udev);
  device->syspath = strdup(syspath);
  const char *digits = device->syspath + strlen(syspath);
  while (digits > device->syspath && isdigit((unsigned char)digits[-1])) digits--;
  if (*digits) device->sysnum = strdup(digits);
  putEntry(&device->properties, "DEVPATH", device->syspath + strlen("/sys"));
  return device;
}

/* Returns the path of a device's folder without links, or NULL. */
static char *resolvePath(const char *path) {
  char buffer[PAD_PATH_BYTES], uevent[PATH_BYTES];
  if (strncmp(path, "/sys/", 5) != 0) return NULL;
  char *resolved = realpath(locateSystemPath(path, buffer), NULL);
  if (!resolved) return NULL;
  hidePadFolder(resolved);
  snprintf(uevent, sizeof uevent, "%s/uevent", resolved);
  bool isDevice = strncmp(resolved, "/sys/devices/", 13) == 0;
  if (isDevice && access(locateSystemPath(uevent, buffer), F_OK) == 0) return resolved;
  if (!isDevice && strncmp(resolved, "/sys/", 5) == 0) return resolved;
  free(resolved);
  return NULL;
}

API struct udev_device *udev_device_new_from_syspath(struct udev *udev, const char *path) {
  char *resolved = path ? resolvePath(path) : NULL;
  if (!resolved) {
    errno = path ? ENODEV : EINVAL;
    return NULL;
  }
  struct udev_device *device = newDevice(udev, resolved);
  free(resolved);
  if (!device) return NULL;
  device->subsystem = readLinkName(device->syspath, "subsystem");
  device->driver = readLinkName(device->syspath, "driver");
  readKernelProperties(device);
  if (device->subsystem) putEntry(&device->properties, "SUBSYSTEM", device->subsystem);
  if (device->driver) putEntry(&device->properties, "DRIVER", device->driver);
  readDatabase(device);
  return device;
}

API struct udev_device *udev_device_new_from_devnum(struct udev *udev, char type, dev_t number) {
  char path[64];
  snprintf(path, sizeof path, "/sys/dev/%s/%u:%u", type == 'b' ? "block" : "char", major(number),
           minor(number));
  return udev_device_new_from_syspath(udev, path);
}

API struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                               const char *sysname) {
  static const char *const patterns[] = {"/sys/class/%s/%s", "/sys/bus/%s/devices/%s"};
  for (size_t i = 0; subsystem && sysname && i < sizeof patterns / sizeof *patterns; i++) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, patterns[i], subsystem, sysname);
    struct udev_device *device = udev_device_new_from_syspath(udev, path);
    if (device) return device;
  }
  return NULL;
}

API struct udev_device *udev_device_new_from_device_id(struct udev *udev, const char *id) {
  unsigned major = 0, minor = 0;
  char subsystem[64], name[256];
  if (id && sscanf(id, "+%63[^:]:%255s", subsystem, name) == 2)
    return udev_device_new_from_subsystem_sysname(udev, subsystem, name);
  if (id && (*id == 'c' || *id == 'b') && sscanf(id + 1, "%u:%u", &major, &minor) == 2)
    return udev_device_new_from_devnum(udev, *id, makedev(major, minor));
  errno = EINVAL;
  return NULL;
}

/* Only programs that udev starts have a device in their environment. */
API struct udev_device *udev_device_new_from_environment(struct udev *udev) {
  (void)udev;
  errno = ENODEV;
  return NULL;
}

API struct udev_device *udev_device_ref(struct udev_device *device) {
  if (device) device->references++;
  return device;
}

API struct udev_device *udev_device_unref(struct udev_device *device) {
  if (!device || --device->references > 0) return NULL;
  udev_device_unref(device->parent);
  udev_unref(device->udev);
  freeList(&device->properties);
  freeList(&device->tags);
  freeList(&device->links);
  freeList(&device->attributes);
  free(device->syspath);
  free(device->subsystem);
  free(device->driver);
  free(device->sysnum);
  free(device);
  return NULL;
}

/* Returns the nearest folder above that is a device. It belongs to the device, as its attributes do. */
API struct udev_device *udev_device_get_parent(struct udev_device *device) {
  if (!device || device->hasParent) return device ? device->parent : NULL;
  device->hasParent = true;
  char *path = strdup(device->syspath);
  for (char *slash; path && !device->parent && (slash = strrchr(path, '/'));) {
    *slash = '\0';
    if (strncmp(path, "/sys/devices/", 13) != 0) break;
    device->parent = udev_device_new_from_syspath(device->udev, path);
  }
  free(path);
  return device->parent;
}

API struct udev_device *udev_device_get_parent_with_subsystem_devtype(struct udev_device *device,
                                                                      const char *subsystem,
                                                                      const char *devtype) {
  for (device = udev_device_get_parent(device); device && subsystem;
       device = udev_device_get_parent(device)) {
    const char *type = udev_device_get_devtype(device);
    bool isSame = device->subsystem && strcmp(device->subsystem, subsystem) == 0;
    if (isSame && (!devtype || (type && strcmp(type, devtype) == 0))) return device;
  }
  errno = ENOENT;
  return NULL;
}

API const char *udev_device_get_sysattr_value(struct udev_device *device, const char *name) {
  if (!device || !name) return NULL;
  struct udev_list_entry *known = findEntry(device->attributes, name);
  if (known) return known->value;
  char path[PATH_BYTES], buffer[PAD_PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/%s", device->syspath, name) >= (int)sizeof path) return NULL;
  struct stat status;
  if (lstat(locateSystemPath(path, buffer), &status) != 0) return NULL;
  bool isKnownLink =
      strcmp(name, "subsystem") == 0 || strcmp(name, "driver") == 0 || strcmp(name, "module") == 0;
  char *text = NULL;
  if (S_ISLNK(status.st_mode) && isKnownLink) text = readLinkName(device->syspath, name);
  if (S_ISREG(status.st_mode)) text = readText(path);
  if (!text) return NULL;
  for (size_t end = strlen(text); end > 0 && text[end - 1] == '\n'; end--) text[end - 1] = '\0';
  struct udev_list_entry *entry = putEntry(&device->attributes, name, text);
  free(text);
  return entry ? entry->value : NULL;
}

API int udev_device_set_sysattr_value(struct udev_device *device, const char *name, const char *value) {
  return (void)device, (void)name, (void)value, -EROFS;
}
