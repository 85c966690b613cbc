/* Resource usage of the container, from cgroup version 1 or 2. */
struct usage {
  double cpuSeconds;
  long long peakMemoryBytes;
  long long oomKills;
};

/* Returns the usage. Values that the kernel does not provide are 0. */
struct usage readUsage(void);
