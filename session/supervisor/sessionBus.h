#ifndef SESSION_BUS_H
#define SESSION_BUS_H

/* Listens on the socket "bus" in this folder and sets DBUS_SESSION_BUS_ADDRESS. The bus itself starts with
 * the first connection, so a game without D-Bus costs nothing. Does nothing if the image has no bus. */
void offerSessionBus(const char *folder);

/* Returns the descriptor that is readable when a program connects for the first time. -1 afterwards. */
int busToStart(void);

/* Starts the bus, once. It is in the game's sandbox. A bus that ends is not started again. */
void startSessionBus(void);

/* Returns the bus's process id. 0 before it was started. */
int sessionBusProcess(void);

#endif
