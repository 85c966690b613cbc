/*
 * Limits of single processes. The container's cgroup bounds what all of them use together: memory with all
 * files (they are in memory), processor time, and the number of processes.
 *
 * RLIMIT_NPROC and RLIMIT_SIGPENDING are not set: the kernel counts those per user id over all pods of the
 * node, so that one game at its limit would keep every other one from starting a process. Nor is
 * RLIMIT_FSIZE: volumes bound what is written, and engines make sparse files larger than any volume for
 * memory that they map twice.
 */
#include "resourceLimits.h"

#include <sys/resource.h>

static const struct {
  int resource;
  rlim_t value;
} limits[] = {
    /* One byte instead of none also keeps the kernel from starting the node's collector of core dumps, which
       runs outside of the pod. */
    {RLIMIT_CORE, 1},
    {RLIMIT_NOFILE, 65536},
    {RLIMIT_MEMLOCK, 8 << 20},
    /* The kernel counts these per user id too, but where every process has none, no game can take them from
       others. */
    {RLIMIT_MSGQUEUE, 0},
    {RLIMIT_NICE, 0},
    {RLIMIT_RTPRIO, 0},
};

void setResourceLimits(void) {
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit now;
    /* A lower limit of the container runtime stays. */
    if (getrlimit(limits[i].resource, &now) != 0 || now.rlim_max <= limits[i].value) continue;
    setrlimit(limits[i].resource, &(struct rlimit){limits[i].value, limits[i].value});
  }
}
