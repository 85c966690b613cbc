/*
 * Limits of single processes. The container's cgroup bounds what they use together: memory (which includes
 * all files, since they are in memory), processor time and number of processes.
 *
 * RLIMIT_NPROC and RLIMIT_SIGPENDING are not set, because the kernel counts them per user id across all pods
 * of the node: a game at its limit would keep all others from starting processes. RLIMIT_FSIZE is not set
 * either: volumes bound what is written, and engines create sparse files larger than any volume for memory
 * that they map twice.
 */
#include "resourceLimits.h"

#include <sys/resource.h>

static const struct {
  int resource;
  rlim_t value;
} limits[] = {
    /* A limit of one byte instead of zero also keeps the kernel from starting the node's core dump
     * collector, which runs outside the pod. */
    {RLIMIT_CORE, 1},
    {RLIMIT_NOFILE, 65536},
    {RLIMIT_MEMLOCK, 8 << 20},
    /* The kernel counts these per user id too, but if no process has any, no game can take them from
     * others. */
    {RLIMIT_MSGQUEUE, 0},
    {RLIMIT_NICE, 0},
    {RLIMIT_RTPRIO, 0},
};

void setResourceLimits(void) {
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit now;
    /* Keep a lower limit of the container runtime. */
    if (getrlimit(limits[i].resource, &now) != 0 || now.rlim_max <= limits[i].value) continue;
    setrlimit(limits[i].resource, &(struct rlimit){limits[i].value, limits[i].value});
  }
}
