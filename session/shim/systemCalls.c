/* The calls that older programs make by number, because their C library had no function for them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "observations.h"

/* Notes a refused call. Others than these fail for reasons of their own. */
static long observed(long number, long result) {
  static const struct {
    long number;
    const char *name;
  } refusable[] = {
      {SYS_io_uring_setup, "io_uring_setup"},
      {SYS_io_setup, "io_setup"},
      {SYS_ptrace, "ptrace"},
      {SYS_perf_event_open, "perf_event_open"},
      {SYS_userfaultfd, "userfaultfd"},
      {SYS_bpf, "bpf"},
      {SYS_keyctl, "keyctl"},
      {SYS_add_key, "add_key"},
      {SYS_seccomp, "seccomp"},
      {SYS_unshare, "unshare"},
      {SYS_mount, "mount"},
      {SYS_process_vm_readv, "process_vm_readv"},
  };
  if (result != -1 || (errno != EPERM && errno != ENOSYS && errno != EINVAL)) return result;
  for (size_t i = 0; i < sizeof refusable / sizeof *refusable; i++)
    if (refusable[i].number == number) observe("call", refusable[i].name);
  return result;
}

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
    return observed(number, NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]));
  }
}
