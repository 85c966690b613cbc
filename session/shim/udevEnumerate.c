/* Lists of devices that match what a program asks for. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "udev.h"

struct udev_enumerate {
  int references;
  struct udev *udev;
  struct udev_list_entry *subsystems, *otherSubsystems, *names, *tags;
  struct udev_list_entry *attributes, *otherAttributes, *properties;
  char *parent;
  struct udev_list_entry *found;
};

API struct udev_enumerate *udev_enumerate_new(struct udev *udev) {
  struct udev_enumerate *enumerate = calloc(1, sizeof *enumerate);
  if (!enumerate) return NULL;
  enumerate->references = 1;
  enumerate->udev = udev_ref(udev);
  return enumerate;
}

API struct udev_enumerate *udev_enumerate_ref(struct udev_enumerate *enumerate) {
  if (enumerate) enumerate->references++;
  return enumerate;
}

API struct udev_enumerate *udev_enumerate_unref(struct udev_enumerate *enumerate) {
  if (!enumerate || --enumerate->references > 0) return NULL;
  struct udev_list_entry **lists[] = {
      &enumerate->subsystems, &enumerate->otherSubsystems, &enumerate->names,      &enumerate->tags,
      &enumerate->attributes, &enumerate->otherAttributes, &enumerate->properties, &enumerate->found,
  };
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) freeList(lists[i]);
  udev_unref(enumerate->udev);
  free(enumerate->parent);
  free(enumerate);
  return NULL;
}

API struct udev *udev_enumerate_get_udev(struct udev_enumerate *enumerate) {
  return enumerate ? enumerate->udev : NULL;
}

#define ADD_MATCH(function, list)                                                                            \
  API int function(struct udev_enumerate *enumerate, const char *name) {                                     \
    if (!enumerate) return -EINVAL;                                                                          \
    return !name || putEntry(&enumerate->list, name, NULL) ? 0 : -ENOMEM;                                    \
  }
ADD_MATCH(udev_enumerate_add_match_subsystem, subsystems)
ADD_MATCH(udev_enumerate_add_nomatch_subsystem, otherSubsystems)
ADD_MATCH(udev_enumerate_add_match_sysname, names)
ADD_MATCH(udev_enumerate_add_match_tag, tags)

#define ADD_PAIR(function, list)                                                                             \
  API int function(struct udev_enumerate *enumerate, const char *name, const char *value) {                  \
    if (!enumerate) return -EINVAL;                                                                          \
    return !name || putEntry(&enumerate->list, name, value) ? 0 : -ENOMEM;                                   \
  }
ADD_PAIR(udev_enumerate_add_match_sysattr, attributes)
ADD_PAIR(udev_enumerate_add_nomatch_sysattr, otherAttributes)
ADD_PAIR(udev_enumerate_add_match_property, properties)

API int udev_enumerate_add_match_is_initialized(struct udev_enumerate *enumerate) {
  return enumerate ? 0 : -EINVAL;
}

API int udev_enumerate_add_match_parent(struct udev_enumerate *enumerate, struct udev_device *parent) {
  if (!enumerate) return -EINVAL;
  free(enumerate->parent);
  enumerate->parent = parent ? strdup(udev_device_get_syspath(parent)) : NULL;
  return 0;
}

API int udev_enumerate_add_syspath(struct udev_enumerate *enumerate, const char *syspath) {
  struct udev_device *device = enumerate ? udev_device_new_from_syspath(enumerate->udev, syspath) : NULL;
  if (!device) return -EINVAL;
  putEntry(&enumerate->found, udev_device_get_syspath(device), NULL);
  udev_device_unref(device);
  return 0;
}

/* Returns whether one of the patterns matches. No patterns match everything. */
static bool matchesAny(struct udev_list_entry *patterns, const char *text) {
  for (struct udev_list_entry *entry = patterns; entry; entry = entry->next)
    if (text && fnmatch(entry->name, text, 0) == 0) return true;
  return !patterns;
}

static bool hasAttribute(struct udev_device *device, struct udev_list_entry *wanted) {
  const char *value = udev_device_get_sysattr_value(device, wanted->name);
  return value && (!wanted->value || fnmatch(wanted->value, value, 0) == 0);
}

static bool hasProperty(struct udev_device *device, struct udev_list_entry *wanted) {
  for (struct udev_list_entry *has = device->properties; has; has = has->next) {
    if (fnmatch(wanted->name, has->name, 0) != 0) continue;
    if (!wanted->value || (has->value && fnmatch(wanted->value, has->value, 0) == 0)) return true;
  }
  return false;
}

static bool isUnder(const char *syspath, const char *parent) {
  size_t length = strlen(parent);
  return strncmp(syspath, parent, length) == 0 && (syspath[length] == '\0' || syspath[length] == '/');
}

static bool isWanted(struct udev_enumerate *enumerate, struct udev_device *device) {
  if (enumerate->parent && !isUnder(device->syspath, enumerate->parent)) return false;
  for (struct udev_list_entry *tag = enumerate->tags; tag; tag = tag->next)
    if (!udev_device_has_tag(device, tag->name)) return false;
  for (struct udev_list_entry *pair = enumerate->attributes; pair; pair = pair->next)
    if (!hasAttribute(device, pair)) return false;
  for (struct udev_list_entry *pair = enumerate->otherAttributes; pair; pair = pair->next)
    if (hasAttribute(device, pair)) return false;
  bool hasOne = !enumerate->properties;
  for (struct udev_list_entry *pair = enumerate->properties; pair; pair = pair->next)
    hasOne = hasOne || hasProperty(device, pair);
  return hasOne;
}

static void scanFolder(struct udev_enumerate *enumerate, const char *path) {
  char buffer[PAD_PATH_BYTES];
  DIR *folder = opendir(locateSystemPath(path, buffer));
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char child[1024];
    if (entry->d_name[0] == '.' || !matchesAny(enumerate->names, entry->d_name)) continue;
    snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    struct udev_device *device = udev_device_new_from_syspath(enumerate->udev, child);
    if (device && isWanted(enumerate, device)) putEntry(&enumerate->found, device->syspath, NULL);
    udev_device_unref(device);
  }
  if (folder) closedir(folder);
}

/* Scans the devices of each wanted subsystem in /sys/class or /sys/bus. */
static void scanSubsystems(struct udev_enumerate *enumerate, const char *path, const char *devices) {
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char child[1024];
    const char *name = entry->d_name;
    bool isRefused = enumerate->otherSubsystems && matchesAny(enumerate->otherSubsystems, name);
    if (name[0] == '.' || isRefused || !matchesAny(enumerate->subsystems, name)) continue;
    snprintf(child, sizeof child, "%s/%s%s", path, name, devices);
    scanFolder(enumerate, child);
  }
  if (folder) closedir(folder);
}

API int udev_enumerate_scan_devices(struct udev_enumerate *enumerate) {
  if (!enumerate) return -EINVAL;
  freeList(&enumerate->found);
  scanSubsystems(enumerate, "/sys/class", "");
  scanSubsystems(enumerate, "/sys/bus", "/devices");
  /* The machine may have no input devices, and then no such class. */
  bool isRefused = enumerate->otherSubsystems && matchesAny(enumerate->otherSubsystems, "input");
  if (!isRefused && matchesAny(enumerate->subsystems, "input")) scanFolder(enumerate, "/sys/class/input");
  return 0;
}

API int udev_enumerate_scan_subsystems(struct udev_enumerate *enumerate) { return enumerate ? 0 : -EINVAL; }

API struct udev_list_entry *udev_enumerate_get_list_entry(struct udev_enumerate *enumerate) {
  return enumerate ? enumerate->found : NULL;
}
