/*
 * Remembers which file descriptors this library emulates.
 *
 * An entry is valid as long as its descriptor is open on the same socket, whose inode number it keeps.
 * Nothing has to be undone on close, which the C library can do without any override, and a child of vfork,
 * which shares the table with its parent, damages nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  MAX_DESCRIPTORS = 65536, /* the supervisor's limit of open files */
  STATE_BYTES = 48,
};

enum emulation { NOT_EMULATED, FILE_WATCH, DEVICE_EVENTS, LOOPBACK };

/* Remembers that a socket is emulated, with up to STATE_BYTES of state. */
void rememberDescriptor(int fd, enum emulation emulation, const void *state, size_t size);

/* Remembers that a descriptor is a duplicate of another. The state is copied. */
void copyDescriptor(int from, int to);

/* Returns a socket's inode number, or 0. Leaves errno alone. */
uint64_t inodeOf(int fd);

/* Returns whether a descriptor that is remembered this way is open on the socket with this inode number. */
bool isRemembered(uint64_t inode, enum emulation emulation);

/* Returns the state of a descriptor that is emulated this way, or NULL. Leaves errno alone. */
void *stateOf(int fd, enum emulation emulation);
