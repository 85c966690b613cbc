/* exportFilter [internet]: prints the supervisor's filter of system calls as the kernel would be given it. */
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

#include "systemCallFilter.h"

int main(int argc, char **argv) {
  scmp_filter_ctx filter = buildSystemCallFilter(argc > 1 && strcmp(argv[1], "internet") == 0);
  return filter && seccomp_export_bpf(filter, STDOUT_FILENO) == 0 ? 0 : 1;
}
