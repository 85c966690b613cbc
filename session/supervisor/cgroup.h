/* What the container has used, from its cgroup, version 1 or 2. */
struct usage {
  double cpuSeconds;
  long long peakMemoryBytes;
  long long oomKills;
};

/* Returns the usage; figures that the kernel does not have are 0. */
struct usage readUsage(void);
