/*
 * Limits of single processes. What all of them take together is the container's cgroup's affair: memory with all files (they lie in
 * memory), processor time, and the number of processes.
 *
 * Not RLIMIT_NPROC nor RLIMIT_SIGPENDING: the kernel counts those per user id over all pods of the node, so that one game at its limit
 * would keep every other one from starting a process. Nor RLIMIT_FSIZE: volumes bound what is written, and engines make sparse files
 * larger than any volume for memory that they map twice.
 */
#include "resourceLimits.h"

#include <sys/resource.h>

static const struct { int resource; rlim_t value; } limits[] = {
  /* One byte, and not none, also keeps the kernel from starting the node's collector of core dumps, outside of the pod. */
  {RLIMIT_CORE, 1},
  {RLIMIT_NOFILE, 65536},
  {RLIMIT_MEMLOCK, 8 << 20},
  /* Counted per user id too, but at none for everybody there is nothing to take from others. */
  {RLIMIT_MSGQUEUE, 0},
  {RLIMIT_NICE, 0},
  {RLIMIT_RTPRIO, 0},
};

void setResourceLimits(void) {
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit now;
    /* What the container runtime holds lower stays so. */
    if (getrlimit(limits[i].resource, &now) != 0 || now.rlim_max <= limits[i].value) continue;
    setrlimit(limits[i].resource, &(struct rlimit){limits[i].value, limits[i].value});
  }
}
