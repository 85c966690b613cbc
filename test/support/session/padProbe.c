/*
 * Looks for gamepads in the ways that engines do, and prints what it finds: with inotify like GLFW, with
 * libudev like SDL and browsers, and by listing folders. Vibrates the first pad, prints its events, and ends
 * when it is unplugged.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/input.h>
#include <linux/joystick.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { WAIT_MS = 20000 };

/* libudev is looked up, because programs find the shim's that way. */
static void *call(const char *function, void *first, const char *second, const char *third) {
  void *(*found)(void *, const char *, const char *) =
      (void *(*)(void *, const char *, const char *))dlsym(RTLD_DEFAULT, function);
  if (!found) {
    printf("missing %s\n", function);
    exit(1);
  }
  return found(first, second, third);
}

static const char *text(const char *function, void *device, const char *name) {
  const char *found = call(function, device, name, NULL);
  return found ? found : "none";
}

static int await(int fd) {
  struct pollfd source = {.fd = fd, .events = POLLIN};
  return poll(&source, 1, WAIT_MS);
}

static void printDevice(const char *how, void *device) {
  void *parent = call("udev_device_get_parent_with_subsystem_devtype", device, "usb", "usb_device");
  printf("%s %s %s joystick=%s vendor=%s\n", how, text("udev_device_get_action", device, NULL),
         text("udev_device_get_devnode", device, NULL),
         text("udev_device_get_property_value", device, "ID_INPUT_JOYSTICK"),
         parent ? text("udev_device_get_sysattr_value", parent, "idVendor") : "none");
}

static void printEnumeration(void *udev) {
  void *list = call("udev_enumerate_new", udev, NULL, NULL);
  call("udev_enumerate_add_match_subsystem", list, "input", NULL);
  call("udev_enumerate_scan_devices", list, NULL, NULL);
  void *entry = call("udev_enumerate_get_list_entry", list, NULL, NULL);
  for (; entry; entry = call("udev_list_entry_get_next", entry, NULL, NULL))
    printDevice("enumerated", call("udev_device_new_from_syspath", udev,
                                   call("udev_list_entry_get_name", entry, NULL, NULL), NULL));
}

static void printWatch(int watch) {
  char buffer[4096];
  ssize_t length = await(watch) > 0 ? read(watch, buffer, sizeof buffer) : -1;
  for (ssize_t at = 0; at < length;) {
    struct inotify_event *event = (struct inotify_event *)(buffer + at);
    printf("inotify %x %s\n", event->mask, event->len ? event->name : "");
    at += (ssize_t)sizeof *event + event->len;
  }
}

static void printFolders(void) {
  DIR *folder = opendir("/dev/input");
  for (struct dirent *file; folder && (file = readdir(folder));)
    if (file->d_name[0] != '.') printf("listed %s\n", file->d_name);
  glob_t found;
  if (glob("/dev/input/js*", 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++) printf("matched %s\n", found.gl_pathv[i]);
  struct stat status;
  if (stat("/dev/input/event0", &status) == 0)
    printf("device %d %u:%u\n", S_ISCHR(status.st_mode) != 0, major(status.st_rdev), minor(status.st_rdev));
  char *path = realpath("/sys/class/input/event0/device", NULL), name[64] = "";
  FILE *file = fopen("/sys/class/input/js0/device/name", "r");
  if (file && fgets(name, sizeof name, file)) printf("at %s: %s", path ? path : "none", name);
}

static void printPad(int pad) {
  char name[64] = "";
  unsigned char keys[KEY_CNT / 8] = {0}, effects[FF_CNT / 8 + 1] = {0};
  struct input_absinfo stick = {.value = 0};
  struct stat status = {.st_mode = 0};
  fstat(pad, &status);
  ioctl(pad, EVIOCGNAME(sizeof name), name);
  ioctl(pad, EVIOCGBIT(EV_FF, sizeof effects), effects);
  printf("pad %s open=%u:%u rumble=%d\n", name, major(status.st_rdev), minor(status.st_rdev),
         effects[FF_RUMBLE / 8] >> FF_RUMBLE % 8 & 1);
  if (await(pad) > 0 && ioctl(pad, EVIOCGKEY(sizeof keys), keys) >= 0 &&
      ioctl(pad, EVIOCGABS(ABS_X), &stick) == 0)
    printf("state south=%d x=%d of %d\n", keys[BTN_A / 8] >> BTN_A % 8 & 1, stick.value, stick.maximum);
}

static void vibrate(int pad) {
  struct ff_effect effect = {.type = FF_RUMBLE, .id = -1, .u.rumble = {40000, 20000}};
  struct ff_effect spring = {.type = FF_SPRING, .id = -1};
  if (ioctl(pad, EVIOCSFF, &effect) != 0) printf("upload %s\n", strerrorname_np(errno));
  if (ioctl(pad, EVIOCSFF, &spring) != 0) printf("spring %s\n", strerrorname_np(errno));
  struct input_event play = {.type = EV_FF, .code = (unsigned short)effect.id, .value = 1};
  printf("effect %d played=%d\n", effect.id, write(pad, &play, sizeof play) == sizeof play);
}

static void printJoystick(void) {
  int joystick = open("/dev/input/js0", O_RDONLY | O_NONBLOCK);
  unsigned char axes = 0, buttons = 0;
  ioctl(joystick, JSIOCGAXES, &axes);
  ioctl(joystick, JSIOCGBUTTONS, &buttons);
  int initial = 0;
  for (struct js_event event; initial < axes + buttons && await(joystick) > 0; initial++)
    if (read(joystick, &event, sizeof event) != sizeof event || !(event.type & JS_EVENT_INIT)) break;
  printf("joystick axes=%d buttons=%d initial=%d\n", axes, buttons, initial);
  close(joystick);
}

/* Prints the events until the pad is unplugged. */
static void printEvents(int pad) {
  for (struct input_event event; await(pad) > 0;) {
    ssize_t length = read(pad, &event, sizeof event);
    if (length == sizeof event && event.type != EV_SYN) printf("event %d %d\n", event.code, event.value);
    if (length == sizeof event) continue;
    printf("end %zd %s\n", length, strerrorname_np(errno));
    break;
  }
  struct input_event play = {.type = EV_FF};
  printf("after it, write=%zd ioctl=%d\n", write(pad, &play, sizeof play),
         ioctl(pad, EVIOCGKEY(sizeof play), &play));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  void *udev = call("udev_new", NULL, NULL, NULL);
  void *monitor = call("udev_monitor_new_from_netlink", udev, "udev", NULL);
  call("udev_monitor_filter_add_match_subsystem_devtype", monitor, "input", NULL);
  call("udev_monitor_enable_receiving", monitor, NULL, NULL);
  int events = (int)(long)call("udev_monitor_get_fd", monitor, NULL, NULL);
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int number = inotify_add_watch(watch, "/dev/input", IN_CREATE | IN_DELETE);
  printf("ready\n");
  printWatch(watch);
  for (int i = 0; i < 3 && await(events) > 0; i++)
    printDevice("monitored", call("udev_monitor_receive_device", monitor, NULL, NULL));
  printEnumeration(udev);
  printFolders();
  int pad = open("/dev/input/event0", O_RDWR);
  printPad(pad);
  printJoystick();
  vibrate(pad);
  printEvents(pad);
  printWatch(watch);
  inotify_rm_watch(watch, number);
  printWatch(watch);
  return 0;
}
