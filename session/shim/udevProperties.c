/* What programs ask devices. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "udev.h"

static const char *propertyOf(struct udev_device *device, const char *name) {
  return device ? entryValue(device->properties, name) : NULL;
}

API struct udev *udev_device_get_udev(struct udev_device *device) { return device ? device->udev : NULL; }
API const char *udev_device_get_syspath(struct udev_device *device) {
  return device ? device->syspath : NULL;
}
API const char *udev_device_get_devpath(struct udev_device *device) { return propertyOf(device, "DEVPATH"); }
API const char *udev_device_get_devtype(struct udev_device *device) { return propertyOf(device, "DEVTYPE"); }
API const char *udev_device_get_devnode(struct udev_device *device) { return propertyOf(device, "DEVNAME"); }
API const char *udev_device_get_action(struct udev_device *device) { return propertyOf(device, "ACTION"); }
API const char *udev_device_get_sysnum(struct udev_device *device) { return device ? device->sysnum : NULL; }
API const char *udev_device_get_subsystem(struct udev_device *device) {
  return device ? device->subsystem : NULL;
}
API const char *udev_device_get_driver(struct udev_device *device) { return device ? device->driver : NULL; }
API const char *udev_device_get_property_value(struct udev_device *device, const char *name) {
  return name ? propertyOf(device, name) : NULL;
}

API const char *udev_device_get_sysname(struct udev_device *device) {
  return device ? strrchr(device->syspath, '/') + 1 : NULL;
}

API dev_t udev_device_get_devnum(struct udev_device *device) {
  const char *major = propertyOf(device, "MAJOR"), *minor = propertyOf(device, "MINOR");
  return major && minor ? makedev((unsigned)atoi(major), (unsigned)atoi(minor)) : makedev(0, 0);
}

API unsigned long long udev_device_get_seqnum(struct udev_device *device) {
  const char *number = propertyOf(device, "SEQNUM");
  return number ? strtoull(number, NULL, 10) : 0;
}

API unsigned long long udev_device_get_usec_since_initialized(struct udev_device *device) {
  return device && device->isInitialized ? 1 : 0;
}

/* Nothing else in a container is ever initialized by udev, and programs would wait for it. */
API int udev_device_get_is_initialized(struct udev_device *device) { return device ? 1 : -EINVAL; }

API struct udev_list_entry *udev_device_get_devlinks_list_entry(struct udev_device *device) {
  return device ? device->links : NULL;
}
API struct udev_list_entry *udev_device_get_properties_list_entry(struct udev_device *device) {
  return device ? device->properties : NULL;
}
API struct udev_list_entry *udev_device_get_tags_list_entry(struct udev_device *device) {
  return device ? device->tags : NULL;
}
API struct udev_list_entry *udev_device_get_current_tags_list_entry(struct udev_device *device) {
  return device ? device->tags : NULL;
}
API int udev_device_has_tag(struct udev_device *device, const char *tag) {
  return device && tag && findEntry(device->tags, tag) ? 1 : 0;
}
API int udev_device_has_current_tag(struct udev_device *device, const char *tag) {
  return udev_device_has_tag(device, tag);
}

API struct udev_list_entry *udev_device_get_sysattr_list_entry(struct udev_device *device) {
  char buffer[PAD_PATH_BYTES];
  DIR *folder = device ? opendir(locateSystemPath(device->syspath, buffer)) : NULL;
  for (struct dirent *file; folder && (file = readdir(folder));)
    if (file->d_type == DT_REG) udev_device_get_sysattr_value(device, file->d_name);
  if (folder) closedir(folder);
  return device ? device->attributes : NULL;
}
