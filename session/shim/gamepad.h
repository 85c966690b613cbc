#pragma once
#include <stdbool.h>

/* Returns whether opening this path opens a gamepad. */
bool isGamepadPath(const char *path);

/* Opens a gamepad. Returns a descriptor, or -1 with errno. */
int openGamepad(const char *path, int flags);

/* Returns whether a descriptor is an open gamepad. */
bool isGamepad(int fd);

/* Answers an evdev request on a gamepad as ioctl does. */
int controlGamepad(unsigned long request, void *argument);
