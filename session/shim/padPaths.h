/*
 * Where programs look for gamepads, and where the streamer keeps them.
 *
 * The streamer writes the folder JOYPOD_PADS: for each connected pad the device nodes, the sysfs folders and
 * the udev database entries that a kernel and udev would provide, at the same paths below that folder. A
 * device node is a Unix socket. The folder is the only state, so all programs of a game agree on it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { PAD_PATH_BYTES = 512, MAX_PADS = 4 };

enum padKind { EVENT_NODE, JOYSTICK_NODE };

/* One of a pad's two device nodes. */
struct padNode {
  enum padKind kind;
  int number; /* of the pad, from 0 */
};

/* Returns the folder that the streamer writes. */
const char *padFolder(void);

/* Returns where a path is really: in `buffer` if it belongs to the gamepads, otherwise `path`. */
const char *locatePath(const char *path, char buffer[PAD_PATH_BYTES]);

/* Removes the streamer's folder from the start of a path, in place. */
void hidePadFolder(char *path);

/* Finishes an open call that may have met a device node, which the kernel refuses with ENXIO because it is a
 * socket. Returns `opened`, or the descriptor of the device node. */
int openedNode(int opened, int folder, const char *located, int flags);

/* Connects to one of the streamer's sockets. Returns a descriptor, or -1 with errno. */
int connectStreamer(const char *path, int flags);

/* Returns whether a descriptor is an open device node of a pad. Leaves errno alone. */
bool findPad(int fd, struct padNode *node);

/* Returns whether the pad of a descriptor was unplugged. */
bool isUnplugged(int fd);

/* Turns the status of a device node's socket into that of a character device. */
void describeNode(struct stat *status);
void describeDescriptor(int fd, struct stat *status);
