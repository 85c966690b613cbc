/*
 * A gamepad for games in a container without /dev/input and without privileges.
 *
 * Opening the path in JOYPOD_GAMEPAD connects to the streamer's Unix socket at that path. It answers
 * evdev ioctls like a wired Xbox 360 pad, and read() returns the `struct input_event` records that the
 * streamer writes. SDL 2 looks for the pad at SDL_JOYSTICK_DEVICE, so both variables name the same path.
 * Other input libraries scan /dev/input and find none.
 */
#define _GNU_SOURCE
#include "gamepad.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptors.h"

enum { STICK = 32767, TRIGGER = 255 };

static const char name[] = "Microsoft X-Box 360 pad";
static const struct input_id identity = {BUS_USB, 0x045e, 0x028e, 0x0114};
static const unsigned short buttons[] = {
    BTN_A, BTN_B, BTN_X, BTN_Y, BTN_TL, BTN_TR, BTN_SELECT, BTN_START, BTN_MODE, BTN_THUMBL, BTN_THUMBR,
};
static const unsigned short axes[] = {ABS_X, ABS_Y, ABS_Z, ABS_RX, ABS_RY, ABS_RZ, ABS_HAT0X, ABS_HAT0Y};

bool isGamepadPath(const char *path) {
  const char *pad = getenv("JOYPOD_GAMEPAD");
  return path && pad && *pad && strcmp(path, pad) == 0;
}

int openGamepad(const char *path, int flags) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
    close(fd);
    errno = ENODEV;
    return -1;
  }
  if (flags & O_NONBLOCK) fcntl(fd, F_SETFL, O_NONBLOCK);
  rememberDescriptor(fd, GAMEPAD, NULL, 0);
  return fd;
}

bool isGamepad(int fd) { return stateOf(fd, GAMEPAD) != NULL; }

/* Copies as much as fits and zeroes the rest, as the kernel does. Returns the number of bytes copied. */
static int copyOut(void *to, size_t room, const void *from, size_t length) {
  if (length > room) length = room;
  memset(to, 0, room);
  memcpy(to, from, length);
  return (int)length;
}

static void setBits(unsigned char *bits, const unsigned short *codes, size_t count) {
  for (size_t i = 0; i < count; i++) bits[codes[i] / 8] |= (unsigned char)(1 << codes[i] % 8);
}

/* Copies the pad's events of this type. Type 0 requests the types themselves. */
static int copyCapabilities(int type, void *to, size_t room) {
  static const unsigned short types[] = {EV_SYN, EV_KEY, EV_ABS};
  unsigned char bits[KEY_CNT / 8] = {0};
  if (type == 0) setBits(bits, types, sizeof types / sizeof *types);
  if (type == EV_KEY) setBits(bits, buttons, sizeof buttons / sizeof *buttons);
  if (type == EV_ABS) setBits(bits, axes, sizeof axes / sizeof *axes);
  return copyOut(to, room, bits, sizeof bits);
}

static int copyAxis(int axis, void *to) {
  struct input_absinfo info = {.minimum = -STICK - 1, .maximum = STICK, .fuzz = 16, .flat = 128};
  if (axis == ABS_Z || axis == ABS_RZ) info = (struct input_absinfo){.maximum = TRIGGER};
  if (axis == ABS_HAT0X || axis == ABS_HAT0Y) info = (struct input_absinfo){.minimum = -1, .maximum = 1};
  memcpy(to, &info, sizeof info);
  return 0;
}

int controlGamepad(unsigned long request, void *to) {
  size_t room = _IOC_SIZE(request);
  unsigned number = _IOC_NR(request);
  static const int version = EV_VERSION;
  if (_IOC_TYPE(request) != 'E') {
    errno = ENOTTY;
    return -1;
  }
  if (request == EVIOCGVERSION) {
    memcpy(to, &version, sizeof version);
    return 0;
  }
  if (request == EVIOCGID) {
    memcpy(to, &identity, sizeof identity);
    return 0;
  }
  if (number == _IOC_NR(EVIOCGNAME(0))) return copyOut(to, room, name, sizeof name);
  if (number == _IOC_NR(EVIOCGKEY(0)) || number == _IOC_NR(EVIOCGPROP(0))) return copyOut(to, room, "", 0);
  if (number >= _IOC_NR(EVIOCGBIT(0, 0)) && number < _IOC_NR(EVIOCGABS(0)))
    return copyCapabilities((int)(number - _IOC_NR(EVIOCGBIT(0, 0))), to, room);
  if (number >= _IOC_NR(EVIOCGABS(0)) && number < _IOC_NR(EVIOCGABS(ABS_CNT)))
    return copyAxis((int)(number - _IOC_NR(EVIOCGABS(0))), to);
  errno = EINVAL; /* no force feedback, no key maps */
  return -1;
}
