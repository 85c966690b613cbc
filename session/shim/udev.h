/*
 * What libudev's functions share. Programs see the names and types of the public libudev.h, which is not
 * needed to build this.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "padPaths.h"

#define API __attribute__((visibility("default")))

struct udev {
  int references;
  void *userData;
};

struct udev_list_entry {
  struct udev_list_entry *next;
  char *name, *value;
};

struct udev_device {
  int references;
  struct udev *udev;
  char *syspath;
  char *subsystem, *driver;
  char *sysnum; /* the digits at the end of the path, or NULL */
  bool isInitialized;
  struct udev_list_entry *properties, *tags, *links, *attributes;
  struct udev_device *parent;
  bool hasParent; /* whether `parent` was looked up */
};

/* Adds to a list that is kept in order of names. An entry of the same name is replaced. */
struct udev_list_entry *putEntry(struct udev_list_entry **list, const char *name, const char *value);
struct udev_list_entry *findEntry(struct udev_list_entry *list, const char *name);
const char *entryValue(struct udev_list_entry *list, const char *name);
void freeList(struct udev_list_entry **list);

/* Returns where a path below /sys or /run is really: in `buffer` if the gamepads have it, otherwise `path`.
 */
const char *locateSystemPath(const char *path, char buffer[PAD_PATH_BYTES]);

/* Reads a small file. Returns its text, which the caller frees, or NULL. */
char *readText(const char *path);

/* Returns a device that has only a path, for a monitor to add what a message says. */
struct udev_device *newDevice(struct udev *udev, const char *syspath);

struct udev *udev_ref(struct udev *udev);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_unref(struct udev_device *device);
struct udev_device *udev_device_new_from_syspath(struct udev *udev, const char *path);
const char *udev_device_get_syspath(struct udev_device *device);
const char *udev_device_get_sysname(struct udev_device *device);
const char *udev_device_get_sysattr_value(struct udev_device *device, const char *name);
const char *udev_device_get_devtype(struct udev_device *device);
int udev_device_has_tag(struct udev_device *device, const char *tag);
