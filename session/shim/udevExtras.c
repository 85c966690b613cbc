/* Functions of libudev about what a container does not have: a queue of events and a hardware database. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "udev.h"

struct udev_queue {
  int references;
  struct udev *udev;
};

API struct udev_queue *udev_queue_new(struct udev *udev) {
  struct udev_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return NULL;
  queue->references = 1;
  queue->udev = udev_ref(udev);
  return queue;
}

API struct udev_queue *udev_queue_ref(struct udev_queue *queue) {
  if (queue) queue->references++;
  return queue;
}

API struct udev_queue *udev_queue_unref(struct udev_queue *queue) {
  if (!queue || --queue->references > 0) return NULL;
  udev_unref(queue->udev);
  free(queue);
  return NULL;
}

API struct udev *udev_queue_get_udev(struct udev_queue *queue) { return queue ? queue->udev : NULL; }
API unsigned long long udev_queue_get_kernel_seqnum(struct udev_queue *queue) { return (void)queue, 0; }
API unsigned long long udev_queue_get_udev_seqnum(struct udev_queue *queue) { return (void)queue, 0; }
API int udev_queue_get_udev_is_active(struct udev_queue *queue) { return queue ? 1 : 0; }
API int udev_queue_get_queue_is_empty(struct udev_queue *queue) { return queue ? 1 : 0; }
API int udev_queue_get_seqnum_is_finished(struct udev_queue *queue, unsigned long long number) {
  return (void)queue, (void)number, 1;
}
API int udev_queue_get_seqnum_sequence_is_finished(struct udev_queue *queue, unsigned long long start,
                                                   unsigned long long end) {
  return (void)queue, (void)start, (void)end, 1;
}
API struct udev_list_entry *udev_queue_get_queued_list_entry(struct udev_queue *queue) {
  return (void)queue, NULL;
}
API int udev_queue_get_fd(struct udev_queue *queue) { return (void)queue, -ENOSYS; }
API int udev_queue_flush(struct udev_queue *queue) { return queue ? 0 : -EINVAL; }

API struct udev_hwdb *udev_hwdb_new(struct udev *udev) {
  (void)udev;
  errno = ENOENT;
  return NULL;
}
API struct udev_hwdb *udev_hwdb_ref(struct udev_hwdb *database) { return database; }
API struct udev_hwdb *udev_hwdb_unref(struct udev_hwdb *database) { return (void)database, NULL; }
API struct udev_list_entry *udev_hwdb_get_properties_list_entry(struct udev_hwdb *database, const char *alias,
                                                                unsigned flags) {
  return (void)database, (void)alias, (void)flags, NULL;
}

/* Replaces what is not allowed in the name of a device's link. */
API int udev_util_encode_string(const char *text, char *encoded, size_t room) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#+-.:=@_/";
  static const char digits[] = "0123456789abcdef";
  if (!text || !encoded || room == 0) return -EINVAL;
  size_t length = 0;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    bool isAllowed = byte >= 0x80 || strchr(allowed, byte);
    if (length + (isAllowed ? 1 : 4) >= room) return -EINVAL;
    if (isAllowed) {
      encoded[length++] = (char)byte;
      continue;
    }
    memcpy(encoded + length, (char[]){'\\', 'x', digits[byte >> 4], digits[byte & 15]}, 4);
    length += 4;
  }
  encoded[length] = '\0';
  return 0;
}
