import { expect } from "chai";
import { SessionLoads } from "#api/cluster/sessionLoads.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { noShare, loadWithOverhead } from "#contracts/crd/capacity.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";
import { aCondition, aGameSession, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
import { aGameNode } from "#test/factories/gameNode.ts";

function aNode(slots: number, schedulable = true) {
  return aGameNode(`node-${slots}`, { status: { capacity: { slots, used: 0, schedulable } } });
}

describe("SessionLoads.offeredSlots", () => {
  function loadsOf(...sessions: Stored<GameSession>[]): SessionLoads {
    const cache = new ObjectCache<GameSession>();
    for (const session of sessions) cache.upsert(session);
    return new SessionLoads(cache);
  }
  const named = (name: string, changes: Parameters<typeof aGameSession>[0] = {}) =>
    aGameSession({ ...changes, metadata: { name, ...changes.metadata } });

  it("sums the slots of schedulable nodes", () => {
    expect(loadsOf().offeredSlots([])).to.equal(0);
    expect(loadsOf().offeredSlots([aNode(2), aNode(3), aNode(5, false), aGameNode("new")])).to.equal(5);
  });

  it("excludes slots of an admin's sessions until they end", () => {
    const foreign = named("foreign", {
      metadata: { finalizers: [] },
      status: aRunningStatus({ nodeName: "node-3" }),
    });
    const finished = named("finished", {
      metadata: { finalizers: [] },
      status: aRunningStatus({ conditions: [aCondition("Finished")] }),
    });
    expect(loadsOf(foreign, finished, named("ours")).offeredSlots([aNode(3)])).to.equal(2);
  });

  it("includes sessions on nodes that are cordoned or gone", () => {
    const on = (name: string, nodeName: string) => named(name, { status: aRunningStatus({ nodeName }) });
    const sessions = loadsOf(
      on("first", "node-5"),
      on("second", "node-5"),
      on("third", "gone"),
      on("fourth", "node-2"),
    );
    expect(sessions.offeredSlots([aNode(2), aNode(5, false)])).to.equal(5);
    const byHand = named("by-hand", {
      metadata: { finalizers: [] },
      status: aRunningStatus({ nodeName: "node-5" }),
    });
    expect(
      loadsOf(byHand).offeredSlots([aNode(2), aNode(5, false)]),
      "a place that nobody else could have",
    ).to.equal(2);
  });
});

const gibibyte = 2 ** 30;

describe("SessionLoads", () => {
  let version = 1;
  const aSession = (status?: GameSession["status"]) =>
    aGameSession({
      metadata: { name: "a", resourceVersion: String(++version) },
      spec: {
        resources: { cpuMillicores: 500, memoryBytes: gibibyte, gpuShare: 2 },
        saveVolumeBytes: gibibyte,
      },
      ...(status ? { status } : {}),
    });

  it("counts an admin's sessions until they end", () => {
    const cache = new ObjectCache<GameSession>();
    const foreign = (status: GameSession["status"]) =>
      aGameSession({
        metadata: { name: "own", finalizers: [], resourceVersion: String(++version) },
        ...(status ? { status } : {}),
      });
    cache.upsert(foreign(undefined));
    cache.upsert(aSession());
    const loads = new SessionLoads(cache);
    expect(loads.offeredSlots([aNode(3)])).to.equal(2);
    cache.upsert(foreign(aRunningStatus({ nodeName: "node-3" })));
    expect(loads.offeredSlots([aNode(3)])).to.equal(2);
    cache.upsert(foreign(aRunningStatus({ conditions: [aCondition("Finished")] })));
    expect(loads.offeredSlots([aNode(3)])).to.equal(3);
  });

  it("follows a session from its launch to its end", () => {
    const cache = new ObjectCache<GameSession>();
    const loads = new SessionLoads(cache);
    const node = aGameNode("node1", {
      status: {
        capacity: { slots: 2, used: 0, schedulable: true, overhead: { cpuMillicores: 250, memoryBytes: 5 } },
      },
    });
    cache.upsert(aSession());
    expect(loads.unplaced()).to.deep.equal([{ slots: 2, cpuMillicores: 500, memoryBytes: 2 * gibibyte }]);
    cache.upsert(aSession(aPlacedStatus()));
    expect(loads.unplaced()).to.deep.equal([]);
    expect(loads.has("a")).to.equal(true);
    expect(loadWithOverhead(node, loads.placed)).to.deep.equal({
      slots: 2,
      cpuMillicores: 750,
      memoryBytes: 2 * gibibyte + 5,
    });
    expect(
      loadWithOverhead(node, new SessionLoads(cache).placed).slots,
      "begins with what is there",
    ).to.equal(2);
    cache.upsert(aSession(aPlacedStatus({ conditions: [aCondition("Finished")] })));
    expect(loadWithOverhead(node, loads.placed)).to.deep.equal(noShare);
    expect(loads.has("a")).to.equal(false);
  });
});
