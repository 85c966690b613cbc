import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

describe("the usage of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();

  const files = {
    "version 1": {
      "memory/memory.max_usage_in_bytes": "314572800\n",
      "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
      "cpu,cpuacct/cpuacct.usage": "12500000000\n",
    },
    "version 2": {
      "cgroup.controllers": "cpu memory\n",
      "memory.peak": "314572800\n",
      "memory.current": "1048576\n",
      "memory.events": "low 0\noom 1\noom_kill 1\n",
      "cpu.stat": "usage_usec 12500000\nuser_usec 12000000\n",
    },
    "version 2 of a kernel without memory.peak": {
      "cgroup.controllers": "cpu memory\n",
      "memory.current": "314572800\n",
      "memory.events": "oom_kill 1\n",
      "cpu.stat": "usage_usec 12500000\n",
    },
  };

  /** Returns a program that runs the supervisor with these files as its cgroup. */
  async function runnerWith(cgroup: Record<string, string>): Promise<string> {
    const folder = temporaryFolder("cgroup");
    for (const [name, text] of Object.entries(cgroup)) {
      const path = join(folder, "cgroup", name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    const runner = join(folder, "runner.sh");
    const mount = `mount --bind ${folder}/cgroup /sys/fs/cgroup && exec "$0" "$@"`;
    await writeFile(runner, `#!/bin/sh\nexec unshare --map-root-user --mount sh -c '${mount}' "$@"\n`);
    execFileSync("chmod", ["-R", "a+rX", folder]);
    execFileSync("chmod", ["a+x", runner]);
    return runner;
  }

  for (const [version, cgroup] of Object.entries(files)) {
    it(`is its memory peak and CPU time in cgroups of ${version}`, async () => {
      const game = await launch("#!/bin/sh\nexit 3\n", { runner: await runnerWith(cgroup) });
      expect(await game.exit(), game.output()).to.equal(3);
      expect(await game.account()).to.include({
        state: "ended",
        exitCode: 3,
        peakMemoryBytes: 300 * 2 ** 20,
        cpuSeconds: 12.5,
        oomKills: 1,
      });
    });
  }
});
