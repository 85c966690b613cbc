/* Watches of /dev/input, which report the gamepads that appear and vanish. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Returns whether a path is the folder of the gamepads' device nodes. */
bool isPadsFolder(const char *path);

/* Lets the streamer report gamepads on an emulated inotify descriptor, with the number and mask of a watch.
 * The descriptor becomes another socket. Returns false if there is no streamer. */
bool watchPads(int fd, int number, uint32_t mask);

/* Lets the streamer report the end of a watch, if it reports on this descriptor. Returns whether it does. */
bool unwatchPads(int fd, int number);
