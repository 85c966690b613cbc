/* Ways out of the game's processes other than sockets: other processes, unusual system calls, files of the
 * pod. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUPERVISOR = 1, KEYCTL_GET_KEYRING_ID = 0, SESSION_KEYRING = -3 };

static long seize(const char *unused) {
  (void)unused;
  return ptrace(PTRACE_SEIZE, SUPERVISOR, 0, 0);
}
/* Detaches afterwards: a traced supervisor would stop, and the test would get no result. */
static long attach(const char *unused) {
  (void)unused;
  if (ptrace(PTRACE_ATTACH, SUPERVISOR, 0, 0) != 0) return -1;
  waitpid(SUPERVISOR, NULL, __WALL);
  return ptrace(PTRACE_DETACH, SUPERVISOR, 0, 0);
}

static long traceMe(const char *unused) {
  (void)unused;
  return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

/* Uses an unmapped address. The call itself must be denied, so EFAULT counts as a missing protection. */
static long readMemory(const char *unused) {
  (void)unused;
  char byte;
  struct iovec here = {.iov_base = &byte, .iov_len = 1},
               there = {.iov_base = (void *)(uintptr_t)0x1000, .iov_len = 1};
  return syscall(SYS_process_vm_readv, SUPERVISOR, &here, 1, &there, 1, 0);
}

static long writeMemory(const char *unused) {
  (void)unused;
  char byte = 0;
  struct iovec here = {.iov_base = &byte, .iov_len = 1},
               there = {.iov_base = (void *)(uintptr_t)0x1000, .iov_len = 1};
  return syscall(SYS_process_vm_writev, SUPERVISOR, &here, 1, &there, 1, 0);
}

static long takeDescriptor(const char *unused) {
  (void)unused;
  long process = syscall(SYS_pidfd_open, SUPERVISOR, 0);
  return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, 1, 0);
}

static long askKeyring(const char *unused) {
  (void)unused;
  return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, SESSION_KEYRING, 1);
}
static long addKey(const char *unused) {
  (void)unused;
  return syscall(SYS_add_key, "user", "joypod", "x", 1, SESSION_KEYRING);
}

static long makeMap(const char *unused) {
  (void)unused;
  union bpf_attr attributes = {
      .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_fprog passing = {.len = 1, .filter = pass};

static long filterSocket(const char *unused) {
  (void)unused;
  int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return s < 0 ? -1 : setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &passing, sizeof passing);
}

static long filterCalls(const char *unused) {
  (void)unused;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &passing);
}
static long filterCallsByPrctl(const char *unused) {
  (void)unused;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &passing);
}

static long setUpRequests(const char *unused) {
  (void)unused;
  unsigned long requests = 0;
  return syscall(SYS_io_setup, 1, &requests);
}

static long handleFaults(const char *unused) {
  (void)unused;
  return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
}

static long countEvents(const char *unused) {
  (void)unused;
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                       .size = sizeof attributes,
                                       .config = PERF_COUNT_SW_CPU_CLOCK,
                                       .exclude_kernel = 1};
  return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long leaveUserNamespace(const char *unused) {
  (void)unused;
  return unshare(CLONE_NEWUSER);
}
static long leaveNetwork(const char *unused) {
  (void)unused;
  return unshare(CLONE_NEWNET);
}
static long mountOver(const char *path) { return mount("none", path, "tmpfs", 0, NULL); }

static long openForWriting(const char *path) { return open(path, O_WRONLY | O_CLOEXEC); }
static long openMemory(const char *path) { return open(path, O_RDWR | O_CLOEXEC); }

static long create(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return file < 0 ? -1 : write(file, "x", 1);
}

static void tryFiles(void) {
  static const char *const places[] = {
      "/dev/termination-log",     "/root/termination-log", "/run/session/hostile",
      "/run/session/pulse.sock",  "/game/hostile",         "/tmp/.X11-unix/hostile",
      "/usr/local/bin/supervise", "/etc/passwd",           "/hostile",
      "/spool/hostile",
  };
  char name[96];
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(name, sizeof name, "write %s", places[i]);
    tryInChild(name, create, places[i]);
  }
}

/* Returns the number of seccomp filters of a process. */
static int filtersOf(const char *status) {
  char line[256];
  int filters = -1;
  FILE *file = fopen(status, "re");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "Seccomp_filters: %d", &filters);
  if (file) fclose(file);
  return filters;
}

void actTricks(void) {
  tryInChild("ptrace seize", seize, NULL);
  tryInChild("ptrace attach", attach, NULL);
  tryInChild("ptrace traceme", traceMe, NULL);
  tryInChild("process_vm_readv", readMemory, NULL);
  tryInChild("process_vm_writev", writeMemory, NULL);
  tryInChild("open /proc/1/mem", openMemory, "/proc/1/mem");
  tryInChild("open /proc/1/fd/1", openForWriting, "/proc/1/fd/1");
  tryInChild("pidfd_getfd", takeDescriptor, NULL);
  tryInChild("keyctl", askKeyring, NULL);
  tryInChild("add_key", addKey, NULL);
  tryInChild("bpf", makeMap, NULL);
  tryInChild("socket filter", filterSocket, NULL);
  tryInChild("seccomp filter", filterCalls, NULL);
  tryInChild("seccomp filter by prctl", filterCallsByPrctl, NULL);
  tryInChild("io_setup", setUpRequests, NULL);
  tryInChild("userfaultfd", handleFaults, NULL);
  tryInChild("perf_event_open", countEvents, NULL);
  tryInChild("user namespace", leaveUserNamespace, NULL);
  tryInChild("network namespace", leaveNetwork, NULL);
  tryInChild("mount", mountOver, "/tmp");
  tryFiles();
  printResult("filters", "supervisor %d, game %d", filtersOf("/proc/1/status"),
              filtersOf("/proc/self/status"));
  tryPulseAudio();
}
