import { constants } from "node:os";
import { expect } from "chai";
import { compileProbe, compileSupervisor } from "#test/support/session/compileC.ts";
import { superviseGame } from "#test/support/session/supervisedGame.ts";

const { EPERM, EAFNOSUPPORT, EACCES, EINVAL, ENOSYS, EBADF } = constants.errno;
const isX86 = process.arch === "x64";

const refusedSockets = [
  "netlink",
  "packet",
  "vsock",
  "alg",
  "inet-pair",
  "inet-raw",
  "inet-ping",
  "inet-mptcp",
  "inet-high-bits",
];
const internetSockets = ["inet-stream", "inet-datagram", "inet6-stream", "inet6-datagram"];
const refusedCalls = [
  "io_uring_setup",
  "io_uring_enter",
  "io_uring_register",
  "ptrace",
  "process_vm_readv",
  "process_vm_writev",
  "pidfd_getfd",
  "pidfd_getfd-supervisor",
  "process_madvise",
  "kcmp",
  "keyctl",
  "add_key",
  "request_key",
  "bpf",
  "userfaultfd",
  "perf_event_open",
  "unshare",
  "setns",
  "mount",
  "fsopen",
  "open_tree",
  "open_by_handle_at",
  "clone-user-namespace",
  "attach-filter",
  "attach-filter-high-bits",
  "attach-bpf",
  "attach-reuseport-filter",
  "attach-reuseport-bpf",
];
const ordinary = [
  "unix",
  "unix-pair",
  "socket-buffer",
  "seccomp-actions",
  "pidfd_open",
  "own-mem",
  "fork",
  "thread",
  "done",
];

describe("a hostile game under the supervisor", function () {
  this.timeout(60_000);
  let supervisor: string;
  let probe: string;

  before(async () => {
    [supervisor, probe] = await Promise.all([compileSupervisor(), compileProbe("hostileProbe")]);
  });

  /** Each try's name with the error that it met, 0 for none. */
  async function tries(environment: Record<string, string>): Promise<Map<string, number>> {
    const game = await superviseGame(supervisor, [probe], environment);
    try {
      expect(await game.exit(), game.output()).to.equal(0);
      const lines = [...game.output().matchAll(/^([a-z0-9_-]+) (-?\d+)$/gim)];
      return new Map(lines.map(([, name = "", error]) => [name, Number(error)]));
    } finally {
      await game.remove();
    }
  }

  function expectCallsRefused(met: Map<string, number>): void {
    for (const name of refusedCalls) expect(met.get(name), name).to.equal(EPERM);
    for (const name of refusedSockets) expect(met.get(name), name).to.equal(EAFNOSUPPORT);
    for (const name of ordinary) expect(met.get(name), name).to.equal(0);
    for (const name of ["seccomp-filter", "prctl-seccomp"]) expect(met.get(name), name).to.equal(EINVAL);
    for (const name of ["clone3", "inotify_init", "io_setup", "mq_open"])
      expect(met.get(name), name).to.equal(ENOSYS);
    if (!isX86) return;
    for (const name of ["i386-socketpair", "i386-socketcall-socket", "i386-socketcall-socketpair"])
      expect(met.get(name), name).to.equal(EAFNOSUPPORT);
    for (const name of ["i386-setsockopt", "i386-socketcall-setsockopt"])
      expect(met.get(name), name).to.equal(EPERM);
    for (const name of ["i386-ptrace", "i386-io_uring_setup", "x32-socket", "x32-getpid", "x32-ptrace"])
      expect(met.get(name), name).to.equal(EPERM);
    expect(met.get("i386-seccomp-filter")).to.equal(EINVAL);
    expect(met.get("i386-io_setup")).to.equal(ENOSYS);
    expect([met.get("i386-getpid"), met.get("i386-unix"), met.get("i386-socketcall-listen")]).to.deep.equal([
      0,
      0,
      EBADF,
    ]);
  }

  it("gets only local sockets, and no access to other processes or the kernel", async () => {
    const met = await tries({});
    expectCallsRefused(met);
    for (const name of internetSockets) expect(met.get(name), name).to.equal(EAFNOSUPPORT);
    if (isX86) expect(met.get("i386-socket")).to.equal(EAFNOSUPPORT);
  });

  it("additionally gets only TCP and UDP sockets with network", async () => {
    const met = await tries({ GAME_NETWORK: "internet" });
    expectCallsRefused(met);
    for (const name of internetSockets) expect(met.get(name), name).to.equal(0);
    if (isX86) expect(met.get("i386-socket")).to.equal(0);
  });

  it("gets only local sockets if the network mode is unknown", async () => {
    const met = await tries({ GAME_NETWORK: "INTERNET" });
    for (const name of internetSockets) expect(met.get(name), name).to.equal(EAFNOSUPPORT);
  });

  it("reaches neither the supervisor's memory nor its files, although both run as the same user", async () => {
    const met = await tries({});
    for (const name of ["mem", "maps", "environ", "fd", "root", "cwd", "oom_score_adj"])
      expect(met.get(`supervisor-${name}`), name).to.equal(EACCES);
  });

  it("has resource limits that protect other pods", async () => {
    const met = await tries({});
    expect(met.get("limit-core")).to.be.within(0, 1);
    expect(met.get("limit-files")).to.be.within(1, 65_536);
    for (const name of ["limit-queues", "limit-nice", "limit-realtime"])
      expect(met.get(name), name).to.equal(0);
  });
});
