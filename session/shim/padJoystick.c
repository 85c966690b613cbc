/* The older joystick interface of a gamepad: the requests that programs make on /dev/input/js0 to js3. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/input.h>
#include <linux/joystick.h>
#include <string.h>
#include <sys/ioctl.h>

#include "pad.h"

enum { BUTTON_MAP_SIZE = KEY_MAX - BTN_MISC + 1, COEFFICIENT = 1 << 29 };

/* Says how values were corrected, with the kernel's own formula. */
static struct js_corr correctionOf(unsigned short code) {
  bool isTrigger = code == ABS_Z || code == ABS_RZ;
  bool isHat = code == ABS_HAT0X || code == ABS_HAT0Y;
  int maximum = isTrigger ? TRIGGER : isHat ? 1 : STICK;
  int minimum = isTrigger ? 0 : isHat ? -1 : -STICK - 1;
  int flat = isTrigger || isHat ? 0 : STICK_FLAT;
  int middle = (maximum + minimum) / 2;
  int half = (maximum - minimum) / 2 - 2 * flat;
  return (struct js_corr){
      .type = JS_CORR_BROKEN,
      .prec = (short)(flat ? STICK_FUZZ : 0),
      .coef = {middle - flat, middle + flat, COEFFICIENT / half, COEFFICIENT / half},
  };
}

static int copyCorrections(void *to) {
  struct js_corr corrections[PAD_AXES];
  for (int i = 0; i < PAD_AXES; i++) corrections[i] = correctionOf(padAxes[i]);
  memcpy(to, corrections, sizeof corrections);
  return 0;
}

static int copyAxisMap(void *to, size_t room) {
  unsigned char map[ABS_CNT] = {0};
  for (int i = 0; i < PAD_AXES; i++) map[i] = (unsigned char)padAxes[i];
  return copyOut(to, room, map, sizeof map);
}

static int copyButtonMap(void *to, size_t room) {
  unsigned short map[BUTTON_MAP_SIZE] = {0};
  memcpy(map, padButtons, sizeof padButtons);
  return copyOut(to, room, map, sizeof map);
}

int controlJoystick(unsigned long request, void *argument) {
  static const unsigned version = JS_VERSION;
  static const unsigned char axes = PAD_AXES, buttons = PAD_BUTTONS;
  size_t room = _IOC_SIZE(request);
  unsigned number = _IOC_NR(request);
  bool isRead = _IOC_DIR(request) == _IOC_READ;
  if (request == JSIOCGVERSION) return copyOut(argument, sizeof version, &version, sizeof version), 0;
  if (request == JSIOCGAXES) return copyOut(argument, 1, &axes, 1), 0;
  if (request == JSIOCGBUTTONS) return copyOut(argument, 1, &buttons, 1), 0;
  if (request == JSIOCGCORR) return copyCorrections(argument);
  if (request == JSIOCSCORR) return 0; /* Values stay corrected as they are. */
  if (isRead && number == _IOC_NR(JSIOCGNAME(0)))
    return copyOut(argument, room, padName, strlen(padName) + 1);
  if (isRead && number == _IOC_NR(JSIOCGAXMAP)) return copyAxisMap(argument, room);
  if (isRead && number == _IOC_NR(JSIOCGBTNMAP)) return copyButtonMap(argument, room);
  if (number == _IOC_NR(JSIOCSAXMAP) || number == _IOC_NR(JSIOCSBTNMAP)) return 0;
  errno = EINVAL;
  return -1;
}
