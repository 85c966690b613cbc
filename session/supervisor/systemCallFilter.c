/*
 * System calls that are denied to every process of a game on every cluster, whatever the network plugin and
 * the container runtime's profile do. A denied call fails with an error that programs can handle, never with
 * a signal.
 *
 * One filter covers the ABIs of both kinds of node. Processes of any other ABI are denied every call. That
 * includes x32, whose numbers would otherwise be a second way to each call: no game is built for it, and
 * distributions disable it in their kernels.
 */
#define _GNU_SOURCE
#include "systemCallFilter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { PROTOCOL_ICMP = 1, PROTOCOL_UDP = 17, TYPE_MASK = 0xf, SOCKETCALL_SETSOCKOPT = 14 };

static const uint32_t abis[] = {SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_AARCH64, SCMP_ARCH_ARM};

struct deniedCall {
  int call, error;
};

static const struct deniedCall deniedCalls[] = {
    /* Its requests bypass the filter, so it could create sockets. */
    {SCMP_SYS(io_uring_setup), EPERM},
    {SCMP_SYS(io_uring_enter), EPERM},
    {SCMP_SYS(io_uring_register), EPERM},
    /* Access to other processes. */
    {SCMP_SYS(ptrace), EPERM},
    {SCMP_SYS(process_vm_readv), EPERM},
    {SCMP_SYS(process_vm_writev), EPERM},
    {SCMP_SYS(process_madvise), EPERM},
    {SCMP_SYS(pidfd_getfd), EPERM},
    {SCMP_SYS(kcmp), EPERM},
    /* Large parts of the kernel that games do not need. */
    {SCMP_SYS(bpf), EPERM},
    {SCMP_SYS(userfaultfd), EPERM},
    {SCMP_SYS(perf_event_open), EPERM},
    {SCMP_SYS(syslog), EPERM},
    {SCMP_SYS(lookup_dcookie), EPERM},
    {SCMP_SYS(vm86), EPERM},
    {SCMP_SYS(vm86old), EPERM},
    /* The kernel counts these per machine or per user id, which all sessions of a node share. One game
     * could use them up for all. */
    {SCMP_SYS(keyctl), EPERM},
    {SCMP_SYS(add_key), EPERM},
    {SCMP_SYS(request_key), EPERM},
    {SCMP_SYS(fanotify_init), EPERM},
    /* Fail as on a kernel that was built without them: engines then poll instead, and read in threads. An
     * errno that means that they are used up would end many. The shim emulates inotify. */
    {SCMP_SYS(inotify_init), ENOSYS},
    {SCMP_SYS(inotify_init1), ENOSYS},
    {SCMP_SYS(io_setup), ENOSYS},
    {SCMP_SYS(mq_open), ENOSYS},
    {SCMP_SYS(mq_unlink), ENOSYS},
    /* Namespaces, in which a process would gain privileges. clone3's flags are behind a pointer; libc
     * falls back to clone. */
    {SCMP_SYS(unshare), EPERM},
    {SCMP_SYS(setns), EPERM},
    {SCMP_SYS(clone3), ENOSYS},
    /* Mounts, and access to files by other means than their path. */
    {SCMP_SYS(mount), EPERM},
    {SCMP_SYS(umount), EPERM},
    {SCMP_SYS(umount2), EPERM},
    {SCMP_SYS(pivot_root), EPERM},
    {SCMP_SYS(chroot), EPERM},
    {SCMP_SYS(fsopen), EPERM},
    {SCMP_SYS(fsconfig), EPERM},
    {SCMP_SYS(fsmount), EPERM},
    {SCMP_SYS(fspick), EPERM},
    {SCMP_SYS(open_tree), EPERM},
    {SCMP_SYS(move_mount), EPERM},
    {SCMP_SYS(mount_setattr), EPERM},
    {SCMP_SYS(open_by_handle_at), EPERM},
    {SCMP_SYS(name_to_handle_at), EPERM},
    {SCMP_SYS(quotactl), EPERM},
    {SCMP_SYS(quotactl_fd), EPERM},
    /* The machine. */
    {SCMP_SYS(init_module), EPERM},
    {SCMP_SYS(finit_module), EPERM},
    {SCMP_SYS(delete_module), EPERM},
    {SCMP_SYS(kexec_load), EPERM},
    {SCMP_SYS(kexec_file_load), EPERM},
    {SCMP_SYS(reboot), EPERM},
    {SCMP_SYS(swapon), EPERM},
    {SCMP_SYS(swapoff), EPERM},
    {SCMP_SYS(acct), EPERM},
    {SCMP_SYS(settimeofday), EPERM},
    {SCMP_SYS(stime), EPERM},
    {SCMP_SYS(clock_settime), EPERM},
    {SCMP_SYS(iopl), EPERM},
    {SCMP_SYS(ioperm), EPERM},
};

static const unsigned namespaces[] = {
    CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
};

static const int attachOptions[] = {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                    SO_ATTACH_REUSEPORT_EBPF};

/* Adds a rule. `failure` keeps the first error of several rules. */
static void deny(int *failure, scmp_filter_ctx filter, int error, int call, unsigned count,
                 const struct scmp_arg_cmp *when) {
  if (*failure == 0) *failure = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(error), call, count, when);
}

/*
 * The arguments of the i386 call socketcall are behind a pointer. libseccomp can therefore deny its socket
 * and socketpair sub-calls only whatever their arguments are, and requires every rule of socket to have the
 * same error. Its other sub-calls need an existing socket; of those only setsockopt is denied, below.
 */
static void denySockets(int *failure, scmp_filter_ctx filter, int call, const struct scmp_arg_cmp *when,
                        unsigned count) {
  deny(failure, filter, EAFNOSUPPORT, call, count, when);
}

/* A value with bits above the 32 that the kernel reads compares as different, and is denied. */
static void allowOnlyUnix(int *failure, scmp_filter_ctx filter, int call) {
  denySockets(failure, filter, call, (struct scmp_arg_cmp[]){SCMP_A0_64(SCMP_CMP_NE, AF_UNIX)}, 1);
}

/* Allows TCP and UDP of one family: no raw packets, no ICMP, no rarely reviewed protocols. */
static void allowOnlyTcpAndUdp(int *failure, scmp_filter_ctx filter, int family) {
  const struct scmp_arg_cmp isFamily = SCMP_A0_64(SCMP_CMP_EQ, family);
  const struct scmp_arg_cmp others[] = {
      /* All types except 1 (stream) and 2 (datagram). */
      SCMP_A1_64(SCMP_CMP_MASKED_EQ, TYPE_MASK, 0), SCMP_A1_64(SCMP_CMP_MASKED_EQ, 3, 3),
      SCMP_A1_64(SCMP_CMP_MASKED_EQ, 4, 4),         SCMP_A1_64(SCMP_CMP_MASKED_EQ, 8, 8),
      SCMP_A2_64(SCMP_CMP_EQ, PROTOCOL_ICMP),       SCMP_A2_64(SCMP_CMP_GT, PROTOCOL_UDP),
  };
  for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
    denySockets(failure, filter, SCMP_SYS(socket), (struct scmp_arg_cmp[]){isFamily, others[i]}, 2);
}

static void allowInternet(int *failure, scmp_filter_ctx filter) {
  for (int family = 0; family < AF_INET6; family++)
    if (family != AF_UNIX && family != AF_INET)
      denySockets(failure, filter, SCMP_SYS(socket), (struct scmp_arg_cmp[]){SCMP_A0_64(SCMP_CMP_EQ, family)},
                  1);
  denySockets(failure, filter, SCMP_SYS(socket), (struct scmp_arg_cmp[]){SCMP_A0_64(SCMP_CMP_GT, AF_INET6)},
              1);
  allowOnlyTcpAndUdp(failure, filter, AF_INET);
  allowOnlyTcpAndUdp(failure, filter, AF_INET6);
}

/* Compares the 32 bits that the kernel reads of an int. */
static struct scmp_arg_cmp equalsInt(unsigned argument, uint32_t value) {
  return SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value);
}

/*
 * The kernel compiles programs that filter packets or system calls into one pool, which the whole node
 * shares. Once a game's programs fill it, no container can load the filter it needs to start. Loading a
 * system call filter fails as on a kernel without them (EINVAL): browser engines probe for that and continue
 * without.
 *
 * For socketcall, libseccomp would compare the pointer with the level. Its setsockopt sub-call therefore
 * needs a separate rule, which denies every option. No program misses them: a libc that sets options with
 * socketcall also creates sockets with it, and gets none.
 */
static void denyFilterPrograms(int *failure, scmp_filter_ctx filter) {
  deny(failure, filter, EPERM, SCMP_SYS(socketcall), 1,
       (struct scmp_arg_cmp[]){SCMP_A0_64(SCMP_CMP_EQ, SOCKETCALL_SETSOCKOPT)});
  for (unsigned i = 0; i < sizeof attachOptions / sizeof *attachOptions; i++)
    deny(failure, filter, EPERM, SCMP_SYS(setsockopt), 2,
         (struct scmp_arg_cmp[]){equalsInt(1, SOL_SOCKET), equalsInt(2, attachOptions[i])});
  deny(failure, filter, EINVAL, SCMP_SYS(seccomp), 1,
       (struct scmp_arg_cmp[]){equalsInt(0, SECCOMP_SET_MODE_FILTER)});
  deny(failure, filter, EINVAL, SCMP_SYS(prctl), 1, (struct scmp_arg_cmp[]){equalsInt(0, PR_SET_SECCOMP)});
}

void *buildSystemCallFilter(bool internet) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return NULL;
  int failure = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  /* Search a tree: a game makes about 100,000 calls a second. */
  if (failure == 0) failure = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (unsigned i = 0; i < sizeof abis / sizeof *abis && failure == 0; i++)
    if (seccomp_arch_exist(filter, abis[i]) == -EEXIST) failure = seccomp_arch_add(filter, abis[i]);
  for (unsigned i = 0; i < sizeof deniedCalls / sizeof *deniedCalls; i++)
    deny(&failure, filter, deniedCalls[i].error, deniedCalls[i].call, 0, NULL);
  for (unsigned i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
    deny(&failure, filter, EPERM, SCMP_SYS(clone), 1,
         (struct scmp_arg_cmp[]){SCMP_A0_64(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i])});
  denyFilterPrograms(&failure, filter);
  allowOnlyUnix(&failure, filter, SCMP_SYS(socketpair));
  if (internet)
    allowInternet(&failure, filter);
  else
    allowOnlyUnix(&failure, filter, SCMP_SYS(socket));
  if (failure == 0) return filter;
  seccomp_release(filter);
  errno = -failure;
  return NULL;
}

bool installSystemCallFilter(bool internet) {
  scmp_filter_ctx filter = buildSystemCallFilter(internet);
  if (!filter) return false;
  int failure = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? seccomp_load(filter) : -errno;
  seccomp_release(filter);
  if (failure != 0) errno = -failure;
  return failure == 0;
}
