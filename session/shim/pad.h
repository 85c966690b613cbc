#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "padPaths.h"

enum { PAD_AXES = 8, PAD_BUTTONS = 11, STICK = 32767, TRIGGER = 255, STICK_FUZZ = 16, STICK_FLAT = 128 };

/* Kernel event codes in the order of the joystick interface. */
extern const unsigned short padAxes[PAD_AXES];
extern const unsigned short padButtons[PAD_BUTTONS];
extern const char padName[];

/* A pad's axes and buttons, in the order of the arrays above. The streamer keeps it in a file. */
struct padState {
  int axes[PAD_AXES];
  unsigned buttons; /* bits */
};

/* Returns whether an ioctl request is one that is made on pads only. */
bool isPadRequest(unsigned long request);

/* Answers an ioctl request on an open device node. Returns what ioctl returns. */
int controlPad(int fd, struct padNode node, unsigned long request, void *argument);
int controlJoystick(unsigned long request, void *argument);

/* Copies as much as fits, zeroes the rest, and returns the number of bytes copied, as the kernel does. */
int copyOut(void *to, size_t room, const void *from, size_t length);

/* Answer the requests for force feedback. */
struct ff_effect;
int uploadEffect(int fd, struct ff_effect *effect);
int eraseEffect(int fd, int id);

enum { MAX_EFFECTS = 16 };

/* Requests to the streamer, sent as input events of types that the kernel does not use. */
enum { UPLOAD_REQUEST = 0x80, ERASE_REQUEST = 0x81, CLOCK_REQUEST = 0x82 };
bool sendPadRequest(int fd, unsigned short type, unsigned short code, int value, const void *body,
                    size_t size);
