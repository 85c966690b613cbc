/* The calls that older programs make by number, because their C library had no function for them. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"

OVERRIDES(syscall)
OVERRIDE long syscall(long number, ...) {
  va_list rest;
  long a[6];
  va_start(rest, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
  va_end(rest);
  switch (number) {
#ifdef SYS_inotify_init
  case SYS_inotify_init:
    return inotify_init();
#endif
  case SYS_inotify_init1:
    return inotify_init1((int)a[0]);
  case SYS_inotify_add_watch:
    return inotify_add_watch((int)a[0], (const char *)a[1], (uint32_t)a[2]);
  case SYS_inotify_rm_watch:
    return inotify_rm_watch((int)a[0], (int)a[1]);
  default:
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
}
