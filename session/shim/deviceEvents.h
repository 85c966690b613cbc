/*
 * The netlink socket on which udev and the kernel report devices (NETLINK_KOBJECT_UEVENT). Libraries take a
 * refusal as fatal: SDL's haptic subsystem, Godot 3 and Wine's gamepad bus. They get a Unix socket without a
 * name, so nothing can ever arrive on it.
 */
#pragma once
#include <stdbool.h>
#include <sys/socket.h>

/* Returns whether socket() with these arguments opens a socket for device events. */
bool isDeviceEventKind(int family, int protocol);

/* Opens one. Returns a descriptor, or -1 with errno. */
int openDeviceEvents(int type);

/* Returns whether a descriptor is one. */
bool isDeviceEvents(int fd);

/* The socket calls that a library makes before it waits for events. */
int bindDeviceEvents(int fd, const struct sockaddr *address, socklen_t length);
int nameDeviceEvents(int fd, struct sockaddr *address, socklen_t *length);
int setDeviceEventsOption(int fd, int level, int option, const void *value, socklen_t length);
