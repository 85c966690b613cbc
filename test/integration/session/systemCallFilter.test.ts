import { execFileSync } from "node:child_process";
import { constants } from "node:os";
import { expect } from "chai";
import { compileFilterExport } from "#test/support/session/compileC.ts";
import { runFilter, readPacketFilter } from "#test/support/session/packetFilter.ts";

const { EPERM, EAFNOSUPPORT, EINVAL, ENOSYS } = constants.errno;
const x86 = 0xc000_003e;
const i386 = 0x4000_0003;
const x32Bit = 0x4000_0000;
const [unix, inet, inet6, netlink, packet, vsock] = [1, 2, 10, 16, 17, 40];
const [stream, datagram, raw, seqpacket, packetType] = [1, 2, 3, 5, 10];
const flags = 0o2000000 | 0o4000; // SOCK_CLOEXEC | SOCK_NONBLOCK
const [ipv6, solSocket] = [41, 1]; // levels of socket options
const attaching = {
  SO_ATTACH_FILTER: 26,
  SO_ATTACH_BPF: 50,
  SO_ATTACH_REUSEPORT_CBPF: 51,
  SO_ATTACH_REUSEPORT_EBPF: 52,
};
const highBit = 0x1_0000_0000n;
const protocols = { ICMP: 1, TCP: 6, UDP: 17, SCTP: 132, MPTCP: 262 };

/** Numbers that all ABIs have in common, as all calls since Linux 5.1 have. */
const shared = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  pidfd_getfd: 438,
  process_madvise: 440,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
};

const abis = [
  {
    name: "x86_64",
    architecture: x86,
    socket: 41,
    socketpair: 53,
    clone: 56,
    ordinary: { read: 0, mmap: 9, ioctl: 16, connect: 42, execve: 59, futex: 202 },
    setsockopt: 54,
    seccomp: 317,
    prctl: 157,
    inotify: [253, 294],
    messageQueues: [240, 241],
    ioSetup: 206,
    refused: {
      ptrace: 101,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      bpf: 321,
      userfaultfd: 323,
      perf_event_open: 298,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      unshare: 272,
      setns: 308,
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      open_by_handle_at: 304,
      init_module: 175,
      finit_module: 313,
      kexec_load: 246,
      syslog: 103,
      fanotify_init: 300,
      ioperm: 173,
    },
  },
  {
    name: "i386",
    architecture: i386,
    socket: 359,
    socketpair: 360,
    clone: 120,
    ordinary: { read: 3, mmap2: 192, ioctl: 54, connect: 362, execve: 11, futex: 240 },
    setsockopt: 366,
    seccomp: 354,
    prctl: 172,
    inotify: [291, 332],
    messageQueues: [277, 278],
    ioSetup: 245,
    refused: {
      ptrace: 26,
      process_vm_readv: 347,
      process_vm_writev: 348,
      kcmp: 349,
      bpf: 357,
      userfaultfd: 374,
      perf_event_open: 336,
      add_key: 286,
      request_key: 287,
      keyctl: 288,
      unshare: 310,
      setns: 346,
      mount: 21,
      umount: 22,
      umount2: 52,
      pivot_root: 217,
      chroot: 61,
      open_by_handle_at: 342,
      init_module: 128,
      finit_module: 350,
      vm86: 166,
      vm86old: 113,
      stime: 25,
      ioperm: 101,
    },
  },
  {
    name: "aarch64",
    architecture: 0xc000_00b7,
    socket: 198,
    socketpair: 199,
    clone: 220,
    ordinary: { read: 63, mmap: 222, ioctl: 29, connect: 203, execve: 221, futex: 98 },
    setsockopt: 208,
    seccomp: 277,
    prctl: 167,
    inotify: [26],
    messageQueues: [180, 181],
    ioSetup: 0,
    refused: {
      ptrace: 117,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      bpf: 280,
      userfaultfd: 282,
      perf_event_open: 241,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      unshare: 97,
      setns: 268,
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      open_by_handle_at: 265,
      finit_module: 273,
    },
  },
  {
    name: "arm",
    architecture: 0x4000_0028,
    socket: 281,
    socketpair: 288,
    clone: 120,
    ordinary: { read: 3, mmap2: 192, ioctl: 54, connect: 283, execve: 11, futex: 240 },
    setsockopt: 294,
    seccomp: 383,
    prctl: 172,
    inotify: [316, 360],
    messageQueues: [274, 275],
    ioSetup: 243,
    refused: {
      ptrace: 26,
      process_vm_readv: 376,
      process_vm_writev: 377,
      kcmp: 378,
      bpf: 386,
      userfaultfd: 388,
      perf_event_open: 364,
      add_key: 309,
      request_key: 310,
      keyctl: 311,
      unshare: 337,
      setns: 375,
      mount: 21,
      umount2: 52,
      pivot_root: 218,
      chroot: 61,
      open_by_handle_at: 371,
      finit_module: 379,
    },
  },
];

describe("the supervisor's filter of system calls", function () {
  this.timeout(60_000);
  let exporter: string;
  before(async () => {
    exporter = await compileFilterExport();
  });
  const filter = (...network: string[]) => readPacketFilter(execFileSync(exporter, network));

  for (const {
    name,
    architecture,
    socket,
    socketpair,
    clone,
    setsockopt,
    seccomp,
    prctl,
    ordinary,
    inotify,
    messageQueues,
    ioSetup,
    refused,
  } of abis) {
    describe(`for ${name}`, () => {
      for (const network of [[], ["internet"]]) {
        it(`refuses calls that no game needs and allows ordinary ones ${network.length === 0 ? "without" : "with"} network`, () => {
          const program = filter(...network);
          const verdict = (number: number, ...values: number[]) =>
            runFilter(program, { architecture, number, arguments: values });
          for (const [call, number] of Object.entries({ ...shared, ...refused }))
            expect(verdict(number), call).to.equal(EPERM);
          for (const number of inotify) expect(verdict(number)).to.equal(ENOSYS);
          for (const number of messageQueues) expect(verdict(number)).to.equal(ENOSYS);
          expect(verdict(ioSetup, 1, 4096), "io_setup").to.equal(ENOSYS);
          for (const [call, number] of Object.entries(ordinary))
            expect(verdict(number, 2, 3, 4), call).to.equal("allowed");
          expect(verdict(435), "clone3").to.equal(ENOSYS);
          expect(verdict(434), "pidfd_open").to.equal("allowed");
          expect(verdict(clone, 0x3d0f00), "clone of a thread").to.equal("allowed");
          expect(verdict(clone, 17), "clone of a process").to.equal("allowed");
          for (const space of [
            0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
          ]) {
            expect(verdict(clone, space + 17), `clone 0x${space.toString(16)}`).to.equal(EPERM);
          }
          expect(verdict(socketpair, unix, stream), "socketpair").to.equal("allowed");
          for (const family of [0, inet, inet6, netlink])
            expect(verdict(socketpair, family, stream)).to.equal(EAFNOSUPPORT);
        });
      }

      it("refuses programs that filter packets or system calls, and allows other uses of the same calls", () => {
        for (const program of [filter(), filter("internet")]) {
          const verdict = (number: number, ...values: (number | bigint)[]) =>
            runFilter(program, { architecture, number, arguments: values });
          for (const [optionName, option] of Object.entries(attaching)) {
            expect(verdict(setsockopt, 3, solSocket, option), optionName).to.equal(EPERM);
            expect(
              verdict(setsockopt, 3, highBit + BigInt(solSocket), highBit + BigInt(option)),
              `${optionName} with bits that the kernel does not look at`,
            ).to.equal(EPERM);
            expect(verdict(setsockopt, 3, ipv6, option), `option ${option} of IPv6`).to.equal("allowed");
          }
          for (const option of [2, 7, 16, 20, 25, 27, 49, 53])
            expect(verdict(setsockopt, 3, solSocket, option), `option ${option}`).to.equal("allowed");
          for (const operation of [1, highBit + 1n])
            expect(verdict(seccomp, operation, 0, 4096), `seccomp ${operation}`).to.equal(EINVAL);
          for (const operation of [0, 2, 3])
            expect(verdict(seccomp, operation, 0, 4096), `seccomp ${operation}`).to.equal("allowed");
          for (const option of [22, highBit + 22n])
            expect(verdict(prctl, option, 2, 4096), `prctl ${option}`).to.equal(EINVAL);
          for (const option of [1, 4, 15, 21, 23, 38])
            expect(verdict(prctl, option, 1), `prctl ${option}`).to.equal("allowed");
        }
      });

      it("allows only local sockets", () => {
        const program = filter();
        const verdict = (...values: (number | bigint)[]) =>
          runFilter(program, { architecture, number: socket, arguments: values });
        for (const type of [stream, datagram, seqpacket])
          expect(verdict(unix, type | flags, 0)).to.equal("allowed");
        for (let family = 0; family < 64; family++) {
          if (family !== unix) expect(verdict(family, stream, 0), `family ${family}`).to.equal(EAFNOSUPPORT);
        }
        expect(verdict(0x1_0000_0002n, stream, 0), "bits that the kernel does not look at").to.equal(
          EAFNOSUPPORT,
        );
      });

      it("additionally allows only TCP and UDP to a game with network", () => {
        const program = filter("internet");
        const verdict = (...values: (number | bigint)[]) =>
          runFilter(program, { architecture, number: socket, arguments: values });
        expect(verdict(unix, stream | flags, 0)).to.equal("allowed");
        for (const family of [inet, inet6]) {
          for (const type of [stream, datagram]) expect(verdict(family, type | flags, 0)).to.equal("allowed");
          expect(verdict(family, stream, protocols.TCP)).to.equal("allowed");
          expect(verdict(family, datagram, protocols.UDP)).to.equal("allowed");
          for (const type of [0, raw, 4, seqpacket, 6, packetType, 15])
            expect(verdict(family, type | flags, 0), `type ${type}`).to.equal(EAFNOSUPPORT);
          for (const protocol of [protocols.ICMP, 58, protocols.SCTP, protocols.MPTCP, 0x1_0000_0001n]) {
            expect(verdict(family, stream, protocol), `protocol ${protocol}`).to.equal(EAFNOSUPPORT);
          }
          expect(verdict(0x1_0000_0000n + BigInt(family), raw, 0)).to.equal(EAFNOSUPPORT);
        }
        for (const family of [0, 3, 9, 11, netlink, packet, 38, vsock])
          expect(verdict(family, stream, 0), `family ${family}`).to.equal(EAFNOSUPPORT);
      });
    });
  }

  it("refuses every socket and every option by i386's socketcall, and allows its other sub-calls", () => {
    const refused = new Map([
      [1, EAFNOSUPPORT],
      [8, EAFNOSUPPORT],
      [14, EPERM],
    ]);
    for (const network of [[], ["internet"]]) {
      const program = filter(...network);
      for (let subCall = 1; subCall <= 20; subCall++) {
        expect(
          runFilter(program, { architecture: i386, number: 102, arguments: [subCall, 4096] }),
          `${subCall}`,
        ).to.equal(refused.get(subCall) ?? "allowed");
      }
    }
  });

  it("refuses every call of x32 and of architectures that it does not know", () => {
    const program = filter();
    for (const number of [0, 41, 59, 512, 521, 547])
      expect(
        runFilter(program, { architecture: x86, number: x32Bit + number, arguments: [unix, stream] }),
      ).to.equal(EPERM);
    for (const architecture of [0, 0x8000_0015, 0xc000_00f3, 0xffff_ffff])
      expect(runFilter(program, { architecture, number: 0 })).to.equal(EPERM);
  });
});
