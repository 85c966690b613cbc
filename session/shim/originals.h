/* The C library's socket calls, for the files that emulate sockets. */
#pragma once
#include <sys/socket.h>

int originalSocket(int family, int type, int protocol);
int originalBind(int fd, const struct sockaddr *address, socklen_t length);
int originalConnect(int fd, const struct sockaddr *address, socklen_t length);
int originalListen(int fd, int backlog);
int originalAccept(int fd, struct sockaddr *address, socklen_t *length, int flags);
int originalName(int fd, struct sockaddr *address, socklen_t *length);
int originalPeer(int fd, struct sockaddr *address, socklen_t *length);
int originalSetOption(int fd, int level, int option, const void *value, socklen_t length);
int originalGetOption(int fd, int level, int option, void *value, socklen_t *length);
ssize_t originalSend(int fd, const struct msghdr *message, int flags);
ssize_t originalReceive(int fd, struct msghdr *message, int flags);
