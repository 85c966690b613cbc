import { expect } from "chai";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { healthOf, Heartbeats } from "#operator/nodes/nodeHealth.ts";

describe("healthOf", () => {
  const silent = aNode("node1", { isReady: false });
  const cases = [
    [aNode(), true, "Healthy"],
    [aNode(), false, "Unknown"],
    [silent, true, "Unknown"],
    [silent, false, "Lost"],
    [undefined, true, "Unknown"],
    [undefined, false, "Lost"],
  ] as const;
  for (const [node, hasHeartbeat, health] of cases) {
    it(`is ${health} for a node that is ${node === undefined ? "gone" : node === silent ? "not ready" : "ready"} and an agent that is ${hasHeartbeat ? "heard" : "silent"}`, () => {
      expect(healthOf(node, hasHeartbeat)).to.equal(health);
    });
  }
});

describe("Heartbeats", () => {
  const beat = (renewedAt: string) =>
    aGameNode("node1", { status: { heartbeat: { renewedAt, agentVersion: "1" } } });
  const renewal = (renewTime?: string) => ({
    metadata: { name: "node1" },
    spec: { ...(renewTime === undefined ? {} : { renewTime }) },
  });

  it("accepts heartbeats in the Lease and in the status, and ignores a Lease that was never renewed", async () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock, 35_000);
    heartbeats.observeLease(renewal());
    expect(heartbeats.isFresh("node1")).to.equal(false);
    heartbeats.observe(beat("2030-01-01T00:00:00Z"));
    await clock.advance(34_000);
    heartbeats.observeLease(renewal("2030-01-01T00:00:00.000000Z"));
    expect(heartbeats.staleInMs("node1")).to.equal(35_000);
    expect(heartbeats.isHeard("node1"), "it may be an old one").to.equal(false);
    await clock.advance(34_000);
    heartbeats.observeLease(renewal("2030-01-01T00:00:10.000000Z"));
    expect(heartbeats.isHeard("node1")).to.equal(true);
    heartbeats.observe(beat("2030-01-01T00:00:00Z"));
    await clock.advance(34_999);
    expect(heartbeats.isFresh("node1"), "the same report again does not count").to.equal(true);
    await clock.advance(1);
    expect(heartbeats.isFresh("node1")).to.equal(false);
  });

  describe("with a dead watch", () => {
    const behind = { lease: 0, status: 0 };

    /** Returns the heartbeats 36 s after the agent's last one. */
    async function later(isRenewed: boolean): Promise<Heartbeats> {
      const clock = new FakeClock();
      const heartbeats = new Heartbeats(clock, 35_000, (place) => behind[place]);
      heartbeats.observe(beat("2030-01-01T00:00:00Z"));
      if (isRenewed) heartbeats.observeLease(renewal("2030-01-01T00:00:00.000000Z"));
      await clock.advance(36_000);
      return heartbeats;
    }

    it("treats agents as fresh while the watch of the Leases is dead, and retries soon", async () => {
      const heartbeats = await later(true);
      Object.assign(behind, { lease: 36_000, status: 0 });
      expect(heartbeats.isFresh("node1")).to.equal(true);
      expect(heartbeats.isLate("node1")).to.equal(false);
      expect(heartbeats.staleInMs("node1")).to.be.within(1, 1000);
    });

    it("treats agents as late and then silent up to the time the watch was heard", async () => {
      const heartbeats = await later(true);
      behind.lease = 36_000 - 21_001;
      expect([heartbeats.isLate("node1"), heartbeats.isFresh("node1")]).to.deep.equal([true, true]);
      behind.lease = 1001;
      expect(heartbeats.isFresh("node1")).to.equal(true);
      behind.lease = 1000;
      expect([heartbeats.isFresh("node1"), heartbeats.staleInMs("node1")]).to.deep.equal([false, 0]);
    });

    it("uses the watch of the GameNodes if the agent has renewed no Lease", async () => {
      const heartbeats = await later(false);
      Object.assign(behind, { lease: 0, status: 36_000 });
      expect(heartbeats.isFresh("node1")).to.equal(true);
      Object.assign(behind, { lease: 36_000, status: 0 });
      expect(heartbeats.isFresh("node1")).to.equal(false);
    });
  });

  it("counts from when a heartbeat changed locally, regardless of the agent's clock", async () => {
    const clock = new FakeClock();
    const heartbeats = new Heartbeats(clock, 35_000);
    expect(heartbeats.isFresh("node1"), "never heard").to.equal(false);
    heartbeats.observe(beat("1999-01-01T00:00:00Z"));
    expect(heartbeats.isFresh("node1")).to.equal(true);
    await clock.advance(34_000);
    heartbeats.observe(beat("1999-01-01T00:00:00Z"));
    expect(heartbeats.staleInMs("node1"), "the same heartbeat again does not count").to.equal(1000);
    await clock.advance(1000);
    expect(heartbeats.isFresh("node1")).to.equal(false);
    heartbeats.observe(beat("1999-01-01T00:00:10Z"));
    expect(heartbeats.isFresh("node1")).to.equal(true);
    heartbeats.forget("node1");
    expect(heartbeats.isFresh("node1")).to.equal(false);
  });
});
