/* The calls that are observed and not changed: those that create or move files, load libraries, and resolve
 * host names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "next.h"
#include "observations.h"

static int observed(int result, int folder, const char *path) {
  if (result < 0) observeRefusedWrite(folder, path);
  return result;
}

OVERRIDES(creat)
OVERRIDE int creat(const char *path, mode_t mode) {
  return observed(NEXT(creat)(path, mode), AT_FDCWD, path);
}

OVERRIDES(creat64)
OVERRIDE int creat64(const char *path, mode_t mode) {
  return observed(NEXT(creat64)(path, mode), AT_FDCWD, path);
}

OVERRIDES(mkdir)
OVERRIDE int mkdir(const char *path, mode_t mode) {
  return observed(NEXT(mkdir)(path, mode), AT_FDCWD, path);
}

OVERRIDES(mkdirat)
OVERRIDE int mkdirat(int folder, const char *path, mode_t mode) {
  return observed(NEXT(mkdirat)(folder, path, mode), folder, path);
}

OVERRIDES(rename)
OVERRIDE int rename(const char *from, const char *to) {
  return observed(NEXT(rename)(from, to), AT_FDCWD, to);
}

/* A program that loads a library reads here why it could not. dlopen itself cannot be overridden: it looks at
 * the address of its caller. */
OVERRIDES(dlerror)
OVERRIDE char *dlerror(void) {
  char *text = NEXT(dlerror)();
  char *end = text ? strstr(text, ": cannot open shared object file") : NULL;
  if (!end) return text;
  char name[256];
  snprintf(name, sizeof name, "%.*s", (int)(end - text), text);
  observe("library", name);
  return text;
}

OVERRIDES(getaddrinfo)
OVERRIDE int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                         struct addrinfo **found) {
  int result = NEXT(getaddrinfo)(host, service, hints, found);
  if (result != 0 && host && !(hints && hints->ai_flags & AI_NUMERICHOST)) observe("resolve", host);
  return result;
}
