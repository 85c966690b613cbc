/*
 * The event interface of a gamepad: the requests that programs make on /dev/input/event0 to event3.
 *
 * Each looks like a wired Xbox 360 pad, which all engines know. Events need no code here: a device node is a
 * socket, and read returns the records that the streamer writes.
 */
#define _GNU_SOURCE
#include "pad.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

const char padName[] = "Microsoft X-Box 360 pad";
static const struct input_id identity = {BUS_USB, 0x045e, 0x028e, 0x0114};
const unsigned short padButtons[PAD_BUTTONS] = {
    BTN_A, BTN_B, BTN_X, BTN_Y, BTN_TL, BTN_TR, BTN_SELECT, BTN_START, BTN_MODE, BTN_THUMBL, BTN_THUMBR,
};
const unsigned short padAxes[PAD_AXES] = {
    ABS_X, ABS_Y, ABS_Z, ABS_RX, ABS_RY, ABS_RZ, ABS_HAT0X, ABS_HAT0Y,
};
static const unsigned short effects[] = {
    FF_RUMBLE, FF_PERIODIC, FF_SQUARE, FF_TRIANGLE, FF_SINE, FF_GAIN,
};

bool isPadRequest(unsigned long request) { return _IOC_TYPE(request) == 'E' || _IOC_TYPE(request) == 'j'; }

int copyOut(void *to, size_t room, const void *from, size_t length) {
  if (length > room) length = room;
  memset(to, 0, room);
  memcpy(to, from, length);
  return (int)length;
}

static void setBits(unsigned char *bits, const unsigned short *codes, size_t count) {
  for (size_t i = 0; i < count; i++) bits[codes[i] / 8] |= (unsigned char)(1 << codes[i] % 8);
}

/* Copies the pad's events of this type. Type 0 requests the types themselves. */
static int copyCapabilities(unsigned type, void *to, size_t room) {
  static const unsigned short types[] = {EV_SYN, EV_KEY, EV_ABS, EV_FF};
  unsigned char bits[KEY_CNT / 8] = {0};
  if (type == 0) setBits(bits, types, sizeof types / sizeof *types);
  if (type == EV_KEY) setBits(bits, padButtons, PAD_BUTTONS);
  if (type == EV_ABS) setBits(bits, padAxes, PAD_AXES);
  if (type == EV_FF) setBits(bits, effects, sizeof effects / sizeof *effects);
  return copyOut(to, room, bits, sizeof bits);
}

/* A pad whose state cannot be read is at rest. */
static struct padState readState(int number) {
  struct padState state = {.buttons = 0};
  char path[PAD_PATH_BYTES];
  snprintf(path, sizeof path, "%s/state%d", padFolder(), number);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return state;
  if (read(fd, &state, sizeof state) != sizeof state) memset(&state, 0, sizeof state);
  close(fd);
  return state;
}

static int copyPressed(int number, void *to, size_t room) {
  struct padState state = readState(number);
  unsigned char bits[KEY_CNT / 8] = {0};
  for (int i = 0; i < PAD_BUTTONS; i++)
    if (state.buttons >> i & 1) setBits(bits, &padButtons[i], 1);
  return copyOut(to, room, bits, sizeof bits);
}

static int copyAxis(int number, unsigned code, void *to, size_t room) {
  struct input_absinfo info = {
      .minimum = -STICK - 1, .maximum = STICK, .fuzz = STICK_FUZZ, .flat = STICK_FLAT};
  if (code == ABS_Z || code == ABS_RZ) info = (struct input_absinfo){.maximum = TRIGGER};
  if (code == ABS_HAT0X || code == ABS_HAT0Y) info = (struct input_absinfo){.minimum = -1, .maximum = 1};
  struct padState state = readState(number);
  for (int i = 0; i < PAD_AXES; i++) {
    if (padAxes[i] != code) continue;
    info.value = state.axes[i];
    copyOut(to, room, &info, sizeof info);
    return 0;
  }
  errno = EINVAL;
  return -1;
}

bool sendPadRequest(int fd, unsigned short type, unsigned short code, int value, const void *body,
                    size_t size) {
  unsigned char message[sizeof(struct input_event) + sizeof(struct ff_effect)];
  struct input_event head = {.type = type, .code = code, .value = value};
  if (size > sizeof message - sizeof head) return false;
  memcpy(message, &head, sizeof head);
  if (size > 0) memcpy(message + sizeof head, body, size);
  size += sizeof head;
  return syscall(SYS_sendto, fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) == (long)size;
}

static int copyText(struct padNode node, unsigned number, void *to, size_t room) {
  char text[40] = "";
  if (number == _IOC_NR(EVIOCGNAME(0))) return copyOut(to, room, padName, strlen(padName) + 1);
  if (number == _IOC_NR(EVIOCGPHYS(0)))
    snprintf(text, sizeof text, "usb-joypod-%d/input0", node.number + 1);
  else
    snprintf(text, sizeof text, "joypod-pad-%d", node.number);
  return copyOut(to, room, text, strlen(text) + 1);
}

static int fail(int error) {
  errno = error;
  return -1;
}

/* Requests whose number depends on nothing else. */
static int controlFixed(int fd, unsigned long request, void *argument) {
  static const int version = EV_VERSION, maxEffects = MAX_EFFECTS;
  switch (request) {
  case EVIOCGVERSION:
    return copyOut(argument, sizeof version, &version, sizeof version), 0;
  case EVIOCGID:
    return copyOut(argument, sizeof identity, &identity, sizeof identity), 0;
  case EVIOCGEFFECTS:
    return copyOut(argument, sizeof maxEffects, &maxEffects, sizeof maxEffects), 0;
  case EVIOCSFF:
    return uploadEffect(fd, argument);
  case EVIOCRMFF:
    return eraseEffect(fd, (int)(long)argument);
  case EVIOCGRAB: /* Every reader gets all events. */
  case EVIOCSMASK:
    return 0;
  case EVIOCSCLOCKID:
    return sendPadRequest(fd, CLOCK_REQUEST, 0, *(int *)argument, NULL, 0) ? 0 : fail(ENODEV);
  case EVIOCGREP:
  case EVIOCSREP:
    return fail(ENOSYS);
  default:
    return fail(EINVAL);
  }
}

static int controlEvents(int fd, struct padNode node, unsigned long request, void *argument) {
  size_t room = _IOC_SIZE(request);
  unsigned number = _IOC_NR(request);
  if (_IOC_DIR(request) != _IOC_READ) return controlFixed(fd, request, argument);
  if (number == _IOC_NR(EVIOCGNAME(0)) || number == _IOC_NR(EVIOCGPHYS(0)) ||
      number == _IOC_NR(EVIOCGUNIQ(0)))
    return copyText(node, number, argument, room);
  if (number == _IOC_NR(EVIOCGKEY(0))) return copyPressed(node.number, argument, room);
  if (number == _IOC_NR(EVIOCGPROP(0)) || number == _IOC_NR(EVIOCGLED(0)) ||
      number == _IOC_NR(EVIOCGSND(0)) || number == _IOC_NR(EVIOCGSW(0)))
    return copyOut(argument, room, "", 0);
  if (number >= _IOC_NR(EVIOCGBIT(0, 0)) && number < _IOC_NR(EVIOCGABS(0)))
    return copyCapabilities(number - _IOC_NR(EVIOCGBIT(0, 0)), argument, room);
  if (number >= _IOC_NR(EVIOCGABS(0)) && number < _IOC_NR(EVIOCGABS(ABS_CNT)))
    return copyAxis(node.number, number - _IOC_NR(EVIOCGABS(0)), argument, room);
  return controlFixed(fd, request, argument);
}

int controlPad(int fd, struct padNode node, unsigned long request, void *argument) {
  if (isUnplugged(fd)) return fail(ENODEV);
  char expected = node.kind == EVENT_NODE ? 'E' : 'j';
  if (_IOC_TYPE(request) != (unsigned char)expected) return fail(EINVAL);
  return node.kind == EVENT_NODE ? controlEvents(fd, node, request, argument)
                                 : controlJoystick(request, argument);
}
