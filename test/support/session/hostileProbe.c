/*
 * hostileProbe SUPERVISOR: a game that tries the ways out of its container. Prints one line "name error" for
 * each try, error being 0 when the kernel did it. Each try is made so that, without a wall, it does no harm
 * and ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  X32 = 0x40000000,
  I386_SOCKETCALL = 102,
  I386_SOCKET = 359,
  I386_SOCKETPAIR = 360,
  I386_SETSOCKOPT = 366,
  I386_SECCOMP = 354,
  I386_IO_SETUP = 245,
  I386_PTRACE = 26,
  I386_GETPID = 20,
};

static void report(const char *name, long result) { printf("%s %d\n", name, result < 0 ? errno : 0); }

static void reportFd(const char *name, int fd) {
  report(name, fd);
  if (fd >= 0) close(fd);
}

static void trySockets(void) {
  reportFd("unix", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int pair[2];
  report("unix-pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  reportFd("inet-stream", socket(AF_INET, SOCK_STREAM, 0));
  reportFd("inet-datagram", socket(AF_INET, SOCK_DGRAM, 0));
  reportFd("inet-ping", socket(AF_INET, SOCK_DGRAM, 1));
  reportFd("inet-raw", socket(AF_INET, SOCK_RAW, 255));
  reportFd("inet-mptcp", socket(AF_INET, SOCK_STREAM, 262));
  reportFd("inet6-stream", socket(AF_INET6, SOCK_STREAM, 0));
  reportFd("inet6-datagram", socket(AF_INET6, SOCK_DGRAM, 0));
  reportFd("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  reportFd("packet", socket(AF_PACKET, SOCK_RAW, 0));
  reportFd("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
  reportFd("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
  report("inet-pair", socketpair(AF_INET, SOCK_STREAM, 0, pair));
  reportFd("inet-high-bits", (int)syscall(SYS_socket, 0x100000002L, SOCK_STREAM, 0));
}

/* Tries to load a program of one instruction, which lets everything pass. */
static void tryPrograms(void) {
  struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {.len = 1, .filter = pass};
  int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = 65536, none = -1;
  report("socket-buffer", setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
  report("attach-filter", setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
  report("attach-bpf", setsockopt(s, SOL_SOCKET, SO_ATTACH_BPF, &none, sizeof none));
  report("attach-reuseport-filter",
         setsockopt(s, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program));
  report("attach-reuseport-bpf", setsockopt(s, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &none, sizeof none));
  report("attach-filter-high-bits", syscall(SYS_setsockopt, s, 0x100000000L + SOL_SOCKET,
                                            0x100000000L + SO_ATTACH_FILTER, &program, sizeof program));
  close(s);
  uint32_t action = SECCOMP_RET_ALLOW;
  report("seccomp-actions", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
  report("seccomp-filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  report("prctl-seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

#ifdef __x86_64__
/* A 32 bit call out of a 64 bit process; pointers have to lie below 4 GiB. */
static long call32(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c)
                   : "r8", "r9", "r10", "r11", "memory");
  result = (int)result;
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}

static void tryOtherAbis(void) {
  uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  report("i386-getpid", call32(I386_GETPID, 0, 0, 0));
  reportFd("i386-unix", (int)call32(I386_SOCKET, AF_UNIX, SOCK_STREAM, 0));
  reportFd("i386-socket", (int)call32(I386_SOCKET, AF_INET, SOCK_STREAM, 0));
  report("i386-socketpair", call32(I386_SOCKETPAIR, AF_INET, SOCK_STREAM, 0));
  low[0] = AF_INET;
  low[1] = SOCK_STREAM;
  low[2] = 0;
  reportFd("i386-socketcall-socket", (int)call32(I386_SOCKETCALL, 1, (long)(intptr_t)low, 0));
  low[0] = AF_INET;
  low[1] = SOCK_STREAM;
  low[2] = 0;
  low[3] = (uint32_t)(intptr_t)(low + 8);
  report("i386-socketcall-socketpair", call32(I386_SOCKETCALL, 8, (long)(intptr_t)low, 0));
  low[0] = (uint32_t)-1;
  low[1] = 0;
  report("i386-socketcall-listen", call32(I386_SOCKETCALL, 4, (long)(intptr_t)low, 0));
  low[0] = (uint32_t)-1;
  low[1] = SOL_SOCKET;
  low[2] = SO_ATTACH_FILTER;
  low[3] = 0;
  low[4] = 0;
  report("i386-socketcall-setsockopt", call32(I386_SOCKETCALL, 14, (long)(intptr_t)low,
                                              0)); /* of no socket: without a wall it fails with EBADF */
  report("i386-setsockopt", call32(I386_SETSOCKOPT, -1, SOL_SOCKET, SO_ATTACH_FILTER));
  report("i386-seccomp-filter", call32(I386_SECCOMP, SECCOMP_SET_MODE_FILTER, 0,
                                       0)); /* at no address: without a wall it fails with EFAULT */
  low[0] = 0;
  report("i386-io_setup", call32(I386_IO_SETUP, 1, (long)(intptr_t)low, 0));
  report("i386-ptrace", call32(I386_PTRACE, 3, 0, 0));
  report("i386-io_uring_setup", call32(425, 1, (long)(intptr_t)low, 0));
  reportFd("x32-socket", (int)syscall(X32 + SYS_socket, AF_INET, SOCK_STREAM, 0));
  report("x32-getpid", syscall(X32 + SYS_getpid));
  report("x32-ptrace", syscall(X32 + 521, 3, 0, 0, 0));
}
#else
static void tryOtherAbis(void) {}
#endif

static void tryCalls(pid_t supervisor) {
  static char room[4096];
  struct iovec mine = {room, 8}, theirs = {room, 8};
  reportFd("io_uring_setup", (int)syscall(SYS_io_uring_setup, 1, room));
  report("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
  report("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
  report("ptrace", syscall(SYS_ptrace, 3, 0, 0, 0)); /* of no process: without a wall it fails with ESRCH */
  report("process_vm_readv", process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0));
  report("process_vm_writev", process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0));
  int self = (int)syscall(SYS_pidfd_open, getpid(), 0), parent = (int)syscall(SYS_pidfd_open, supervisor, 0);
  report("pidfd_open", self);
  reportFd("pidfd_getfd", (int)syscall(SYS_pidfd_getfd, self, 1, 0));
  reportFd("pidfd_getfd-supervisor", (int)syscall(SYS_pidfd_getfd, parent, 1, 0));
  report("process_madvise", syscall(SYS_process_madvise, self, &mine, 1, MADV_COLD, 0));
  report("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 1, 1));
  report("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  report("add_key", syscall(SYS_add_key, "user", "joypod", "x", 1, -2));
  report("request_key", syscall(SYS_request_key, "user", "joypod", NULL, 0));
  reportFd("bpf", (int)syscall(SYS_bpf, 0, room, 72));
  reportFd("userfaultfd", (int)syscall(SYS_userfaultfd, 1));
  memset(room, 0, sizeof room);
  reportFd("perf_event_open", (int)syscall(SYS_perf_event_open, room, 0, -1, -1, 0));
  report("unshare", unshare(CLONE_NEWUSER));
  report("setns", setns(self, CLONE_NEWUSER));
  report("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
  reportFd("fsopen", (int)syscall(SYS_fsopen, "tmpfs", 0));
  reportFd("open_tree", (int)syscall(SYS_open_tree, AT_FDCWD, "/tmp", 0));
  report("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, room, 0));
  report("clone3", syscall(SYS_clone3, room, 0));
  reportFd("inotify_init", inotify_init1(IN_CLOEXEC));
  reportFd("mq_open", (int)syscall(SYS_mq_open, "hostile", O_RDWR | O_CREAT, 0600, NULL));
  unsigned long requests = 0;
  report("io_setup", syscall(SYS_io_setup, 1, &requests));
  pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  report("clone-user-namespace", child);
  if (child > 0) waitpid(child, NULL, 0);
}

static void trySupervisor(pid_t supervisor) {
  static const char *const files[] = {"mem", "maps", "environ", "fd", "root", "cwd", "oom_score_adj"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/%d/%s", supervisor, files[i]);
    snprintf(name, sizeof name, "supervisor-%s", files[i]);
    reportFd(name, open(path, strcmp(files[i], "oom_score_adj") == 0 ? O_WRONLY : O_RDONLY));
  }
  reportFd("own-mem", open("/proc/self/mem", O_RDWR)); /* as every program may */
}

static void *nothing(void *argument) { return argument; }

static void tryOrdinary(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  report("fork", child);
  waitpid(child, NULL, 0);
  pthread_t thread;
  errno = pthread_create(&thread, NULL, nothing, NULL);
  report("thread", errno == 0 ? 0 : -1);
  if (errno == 0) pthread_join(thread, NULL);
}

static void printLimit(const char *name, int resource) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  printf("%s %lld\n", name, limit.rlim_max == RLIM_INFINITY ? -1 : (long long)limit.rlim_max);
}

int main(int argc, char **argv) {
  alarm(20); /* whatever a try does, this ends */
  pid_t supervisor = argc > 1 ? atoi(argv[1]) : getppid();
  trySockets();
  tryPrograms();
  tryOtherAbis();
  tryCalls(supervisor);
  trySupervisor(supervisor);
  tryOrdinary();
  printLimit("limit-core", RLIMIT_CORE);
  printLimit("limit-files", RLIMIT_NOFILE);
  printLimit("limit-queues", RLIMIT_MSGQUEUE);
  printLimit("limit-nice", RLIMIT_NICE);
  printLimit("limit-realtime", RLIMIT_RTPRIO);
  puts("done 0");
  return 0;
}
