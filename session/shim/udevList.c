#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "udev.h"

enum { MAX_TEXT = 16384 };

API struct udev *udev_new(void) {
  struct udev *udev = calloc(1, sizeof *udev);
  if (udev) udev->references = 1;
  return udev;
}

API struct udev *udev_ref(struct udev *udev) {
  if (udev) udev->references++;
  return udev;
}

API struct udev *udev_unref(struct udev *udev) {
  if (udev && --udev->references == 0) free(udev);
  return NULL;
}

API void *udev_get_userdata(struct udev *udev) { return udev ? udev->userData : NULL; }

API void udev_set_userdata(struct udev *udev, void *userData) {
  if (udev) udev->userData = userData;
}

API void udev_set_log_fn(struct udev *udev, void *log) { (void)udev, (void)log; }
API int udev_get_log_priority(struct udev *udev) { return (void)udev, 3; }
API void udev_set_log_priority(struct udev *udev, int priority) { (void)udev, (void)priority; }

/* Of the version before, which some games still load. */
API const char *udev_get_sys_path(struct udev *udev) { return (void)udev, "/sys"; }
API const char *udev_get_dev_path(struct udev *udev) { return (void)udev, "/dev"; }
API const char *udev_get_run_path(struct udev *udev) { return (void)udev, "/run/udev"; }

struct udev_list_entry *putEntry(struct udev_list_entry **list, const char *name, const char *value) {
  struct udev_list_entry **at = list;
  while (*at && strcmp((*at)->name, name) < 0) at = &(*at)->next;
  struct udev_list_entry *entry = *at;
  if (!entry || strcmp(entry->name, name) != 0) {
    entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->name = strdup(name);
    entry->next = *at;
    *at = entry;
  }
  free(entry->value);
  entry->value = value ? strdup(value) : NULL;
  return entry;
}

struct udev_list_entry *findEntry(struct udev_list_entry *list, const char *name) {
  while (list && strcmp(list->name, name) != 0) list = list->next;
  return list;
}

const char *entryValue(struct udev_list_entry *list, const char *name) {
  struct udev_list_entry *entry = findEntry(list, name);
  return entry ? entry->value : NULL;
}

void freeList(struct udev_list_entry **list) {
  while (*list) {
    struct udev_list_entry *entry = *list;
    *list = entry->next;
    free(entry->name);
    free(entry->value);
    free(entry);
  }
}

API struct udev_list_entry *udev_list_entry_get_next(struct udev_list_entry *entry) {
  return entry ? entry->next : NULL;
}

API struct udev_list_entry *udev_list_entry_get_by_name(struct udev_list_entry *entry, const char *name) {
  return findEntry(entry, name);
}

API const char *udev_list_entry_get_name(struct udev_list_entry *entry) { return entry ? entry->name : NULL; }
API const char *udev_list_entry_get_value(struct udev_list_entry *entry) {
  return entry ? entry->value : NULL;
}

const char *locateSystemPath(const char *path, char buffer[PAD_PATH_BYTES]) {
  const char *located = locatePath(path, buffer);
  if (located != path) return located;
  /* The folders that lead to the gamepads are missing from the machine's /sys. */
  int length = snprintf(buffer, PAD_PATH_BYTES, "%s%s", padFolder(), path);
  return length < PAD_PATH_BYTES && access(path, F_OK) != 0 && access(buffer, F_OK) == 0 ? buffer : path;
}

char *readText(const char *path) {
  char buffer[PAD_PATH_BYTES];
  int fd = open(locateSystemPath(path, buffer), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  char *text = malloc(MAX_TEXT);
  ssize_t length = text ? read(fd, text, MAX_TEXT - 1) : -1;
  close(fd);
  if (length < 0) {
    free(text);
    return NULL;
  }
  text[length] = '\0';
  return text;
}
