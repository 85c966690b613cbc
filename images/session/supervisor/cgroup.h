/* What the container has used, from its cgroup, version 1 or 2. */
struct usage {
  double cpuSeconds;
  long long peakMemoryBytes;
  long long oomKills;
};

/* Figures that the kernel does not give are 0. */
struct usage readUsage(void);
