import { expect } from "chai";
import type { Condition } from "#contracts/crd/kind.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { putOnSmallDisk } from "#test/support/fixtures/nodeDisk.ts";

describe("Node agent checks", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Returns the condition once it has the reason. */
  async function condition(type: string, reason: string): Promise<Condition> {
    return eventually(
      async () =>
        (await fixture.gameNode()).status?.conditions?.find(
          (found) => found.type === type && found.reason === reason,
        ),
      { timeoutMs: 30_000, what: `${type} with ${reason}` },
    );
  }

  const soon = { CHECK_INTERVAL_SECONDS: "0.2" };
  const broken: [
    what: string,
    mount: string,
    type: string,
    reason: string,
    repaired: string,
    healed: string,
    message: RegExp,
  ][] = [
    [
      "programs can be started",
      "noexec,size=2g",
      "RootExecutable",
      "MountedNoexec",
      "exec",
      "Executable",
      /noexec.*gameNodes\.root/,
    ],
    [
      "saves fit",
      "size=64m",
      "SpaceLeft",
      "TooLittleSpace",
      "size=2g",
      "EnoughSpace",
      /Less than 512 MiB were free/,
    ],
  ];
  for (const [what, mount, type, reason, repaired, healed, message] of broken) {
    it(`report whether ${what}, and detect a repair`, async () => {
      fixture.startOnFileSystem(mount, soon);
      const found = await condition(type, reason);
      expect(found.status).to.equal("False");
      expect(found.message).to.match(message);
      fixture.onFileSystem(`mount -o remount,${repaired} "$NODE_ROOT"`);
      expect((await condition(type, healed)).status).to.equal("True");
    });
  }

  it("report whether the folder is writable, and detect a repair", async () => {
    fixture.startOnFileSystem("size=16m", soon);
    await condition("RootWritable", "Writable");
    const found = await eventually(
      async () => {
        // Repeated, because the check's own file may take the last space.
        fixture.onFileSystem('cat /dev/zero >>"$NODE_ROOT/filler" || true');
        return (await fixture.gameNode()).status?.conditions?.find(
          ({ type, status }) => type === "RootWritable" && status === "False",
        );
      },
      { timeoutMs: 30_000, what: "a folder that cannot be written to" },
    );
    expect(found.message).to.contain("no space left");
    expect((await condition("RootExecutable", "NotTried")).status).to.equal("Unknown");
    fixture.onFileSystem('rm "$NODE_ROOT/filler"');
    await condition("RootWritable", "Writable");
    await condition("RootExecutable", "Executable");
  });

  it("report when the disk blocks writes, and detect a recovery", async () => {
    const disk = await putOnSmallDisk(fixture, { megabytes: 64 });
    const clock = new JumpClock();
    await fixture.startAgent(soon, { clock, requestClock: systemClock });
    await condition("RootWritable", "Writable");
    disk.freeze();
    try {
      const found = await eventually(
        async () => {
          clock.jump(60_000);
          return (await fixture.gameNode()).status?.conditions?.find(
            ({ type, status }) => type === "RootWritable" && status === "False",
          );
        },
        { timeoutMs: 20_000, what: "the node to say it" },
      );
      expect(found.message).to.contain("has not responded for 60 s");
      expect((await condition("RootExecutable", "NotTried")).status).to.equal("Unknown");
    } finally {
      disk.thaw();
    }
    await condition("RootWritable", "Writable");
    await condition("RootExecutable", "Executable");
  });

  it("report whether the clock agrees with the API server's, and detect a correction", async () => {
    let aheadMs = -120_000;
    const clock: Clock = {
      now: () => new Date(systemClock.now().getTime() + aheadMs),
      monotonicMs: () => systemClock.monotonicMs(),
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
      setTimer: (ms, callback) => systemClock.setTimer(ms, callback),
    };
    await fixture.startAgent(soon, { requestClock: clock });
    const found = await condition("ClockInStep", "OutOfStep");
    expect(found).to.include({ status: "False" });
    expect(found.message).to.contain("more than 60 s behind");
    aheadMs = 0;
    await condition("ClockInStep", "InStep");
  });

  it("are all reported with the first heartbeat", async () => {
    await fixture.startAgent();
    const { status } = await eventually(
      async () => {
        const found = await fixture.gameNode();
        return found.status?.heartbeat !== undefined && found;
      },
      { timeoutMs: 20_000, what: "the first heartbeat" },
    );
    const types = ["RootWritable", "RootExecutable", "SpaceLeft", "ClockInStep"];
    expect(
      types.map((type) => status?.conditions?.find((found) => found.type === type)?.status),
    ).to.deep.equal(["True", "True", "True", "True"]);
  });
});
