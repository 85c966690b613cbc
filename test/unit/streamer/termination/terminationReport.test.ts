import { expect } from "chai";
import { createUsageReader } from "#streamer/termination/terminationReport.ts";

const mount = "/sys/fs/cgroup";
const reader = (files: Record<string, string>) => createUsageReader((path) => files[path]);

describe("createUsageReader", () => {
  it("reads cgroup version 2 at the root of a private namespace", () => {
    const usage = reader({
      "/proc/self/cgroup": "0::/\n",
      [`${mount}/cgroup.controllers`]: "cpu memory\n",
      [`${mount}/cpu.stat`]: "usage_usec 2500000\nuser_usec 1\n",
      [`${mount}/memory.peak`]: "1048576\n",
      [`${mount}/memory.current`]: "5\n",
    });
    expect(usage()).to.deep.equal({ cpuSeconds: 2.5, peakMemoryBytes: 1_048_576 });
  });

  it("returns the largest memory sample if the kernel records no peak", () => {
    const files = { [`${mount}/cgroup.controllers`]: "", [`${mount}/memory.current`]: "300" };
    const usage = reader(files);
    expect(usage().peakMemoryBytes).to.equal(300);
    files[`${mount}/memory.current`] = "100";
    expect(usage().peakMemoryBytes).to.equal(300);
  });

  it("reads cgroup version 1 below the container's own path or at the root, under either name of the CPU controller", () => {
    const memory = { [`${mount}/memory/memory.max_usage_in_bytes`]: "2048\n" };
    const rooted = reader({
      "/proc/self/cgroup": "4:cpu,cpuacct:/kubepods/x\n3:memory:/kubepods/x\n",
      ...memory,
      [`${mount}/cpu,cpuacct/cpuacct.usage`]: "1500000000\n",
    });
    expect(rooted()).to.deep.equal({ cpuSeconds: 1.5, peakMemoryBytes: 2_048 });
    const nested = reader({
      "/proc/self/cgroup": "4:cpuacct:/docker/y\n",
      ...memory,
      [`${mount}/cpuacct/docker/y/cpuacct.usage`]: "2000000000\n",
      [`${mount}/cpuacct/cpuacct.usage`]: "9\n",
    });
    expect(nested().cpuSeconds).to.equal(2);
  });

  it("returns zeros when there are no cgroup files", () => {
    expect(reader({})()).to.deep.equal({ cpuSeconds: 0, peakMemoryBytes: 0 });
  });
});
