import { expect } from "chai";
import { clusterTargets, reachedFromPod } from "./support/clusterTargets.ts";
import { FakeInternet } from "./support/fakeInternet.ts";
import { publishHostile, publishSockets } from "./support/hostileGame.ts";
import { hostileSessionsOfSuite } from "./support/hostileSession.ts";

/** Answered by the filter around the game, on every cluster. */
const filtered = [
  "ptrace seize",
  "ptrace attach",
  "ptrace traceme",
  "process_vm_readv",
  "process_vm_writev",
  "pidfd_getfd",
  "keyctl",
  "add_key",
  "bpf",
  "socket filter",
  "userfaultfd",
  "perf_event_open",
];

/** Answered by the same filter as by a kernel that does not have it. */
const absent = ["seccomp filter", "seccomp filter by prctl"];

/** What a game prints of a thing that it was not let do. */
const errnoName = /^(?!EFAULT$)E[A-Z]+$/;

describe("a hostile game in its pod", () => {
  const launch = hostileSessionsOfSuite();
  let internet: FakeInternet | undefined;
  let tricks: string;
  let emulations: string;

  before(async () => {
    ({ tricks, emulations } = await publishHostile("tricks", "emulations"));
    internet = await FakeInternet.start();
  });

  after(async () => {
    await internet?.stop();
  });

  it("reaches nothing by sockets that an ordinary pod reaches", async () => {
    const bystander = await launch(tricks);
    const targets = [...(await clusterTargets()), `${await bystander.podIp()}:8080`];
    const reached = await reachedFromPod(targets);
    expect(Object.fromEntries(reached), "from the API's pod").to.deep.equal(
      Object.fromEntries(targets.map((target) => [target, "reached"])),
    );

    const session = await launch(await publishSockets(targets));
    await session.begin();
    const {
      sockets,
      "unix pair": own,
      ...tried
    } = Object.fromEntries(await session.tells("sockets: done", 60_000));
    expect(sockets).to.equal("done");
    expect(own, "the sockets of display and sound").to.equal("allowed");
    for (const target of targets) expect(tried, "tried").to.include.keys(`tcp ${target}`, `udp ${target}`);
    for (const [name, result] of Object.entries(tried))
      expect(result, name).to.match(/^(EAFNOSUPPORT|EPERM)$/);
    expect((await session.finish()).status?.failure, "failure").to.equal(undefined);
  });

  it("reaches nothing by what is emulated for it", async () => {
    const session = await launch(emulations);
    await session.begin();
    const told = await session.tells("emulations: done", 120_000);
    const reached = [...told].filter(([name]) => /^emulated (tcp|udp) /.test(name));
    expect(reached).to.have.length(6);
    for (const [name, result] of reached) expect(result, name).to.equal("ENETUNREACH");
    expect(told.get("emulated streamer"), "the streamer's port on the pod's loopback").to.equal(
      "ECONNREFUSED",
    );
    for (const name of ["stream", "datagram", "events", "watch"])
      expect(told.get(`emulated ${name} is`), name).to.equal("unix");
    expect(told.get("emulated ports")).to.match(/^\d{3,5}, E(ADDRINUSE|MFILE|NOBUFS)$/);
    expect(told.get("emulated ports again")).to.equal("allowed");
    expect((await session.finish()).status?.failure, "failure").to.equal(undefined);
  });

  it("reaches no other processes, no privileged system calls, no files of the pod and no modules of the sound server", async () => {
    const session = await launch(tricks);
    await session.begin();
    const told = await session.tells("tricks: done", 60_000);
    for (const name of filtered) expect(told.get(name), name).to.equal("EPERM");
    for (const name of absent) expect(told.get(name), name).to.equal("EINVAL");
    expect(told.get("io_setup"), "as on a kernel without it").to.equal("ENOSYS");
    const others = [...told].filter(([name]) =>
      /^(open|write|user namespace|network namespace|mount)/.test(name),
    );
    expect(others).to.have.length.greaterThan(12);
    for (const [name, result] of others) expect(result, name).to.match(errnoName);

    expect(told.get("pulse")).to.equal("connected");
    const modules = [...told].filter(([name]) => name.startsWith("pulse module"));
    expect(modules).to.have.length(4);
    for (const [name, result] of modules) expect(result, name).to.match(/^refused/);

    const [, supervisor, game] = /^supervisor (\d+), game (\d+)$/.exec(told.get("filters") ?? "") ?? [];
    expect(Number(supervisor), "filters around the supervisor itself")
      .to.equal(Number(game))
      .and.to.be.greaterThan(1);
    const { status } = await session.finish();
    expect(status?.failure, "failure").to.equal(undefined);
    expect(status?.stopReason).to.equal("UserRequested");
  });
});
