import { expect } from "chai";
import { shortageOf } from "#api/cluster/capacity.ts";
import { SessionLoads } from "#api/cluster/sessionLoads.ts";
import type { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { noShare } from "#contracts/crd/nodeShare.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";
import { aCondition, aGameSession, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
import { aGameNode } from "#test/factories/gameNode.ts";

function aNode(slots: number, schedulable = true) {
  return aGameNode(`node-${slots}`, { status: { capacity: { slots, used: 0, schedulable } } });
}

describe("offeredSlots", () => {
  function loadsOf(...sessions: Stored<GameSession>[]): SessionLoads {
    const cache = new ObjectCache<GameSession>();
    for (const session of sessions) cache.upsert(session);
    return new SessionLoads(cache);
  }
  const named = (name: string, changes: Parameters<typeof aGameSession>[0] = {}) =>
    aGameSession({ ...changes, metadata: { name, ...changes.metadata } });

  it("is the sum over the nodes that take sessions", () => {
    expect(loadsOf().offeredSlots([])).to.equal(0);
    expect(loadsOf().offeredSlots([aNode(2), aNode(3), aNode(5, false), aGameNode("new")])).to.equal(5);
  });

  it("excludes slots of an admin's own sessions, until they end", () => {
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

  it("includes those that sessions have on nodes that take no others, as a cordoned one, or have none any more", () => {
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

describe("shortageOf", () => {
  const overhead = { cpuMillicores: 250, memoryBytes: gibibyte / 4 };
  const node = (name: string, capacity: Partial<NonNullable<GameNodeStatus["capacity"]>> = {}) =>
    aGameNode(name, {
      status: {
        capacity: {
          slots: 4,
          used: 0,
          schedulable: true,
          offered: { cpuMillicores: 4000, memoryBytes: 4 * gibibyte },
          overhead,
          ...capacity,
        },
      },
    });
  const session = { slots: 1, cpuMillicores: 500, memoryBytes: gibibyte };
  const shortage = (
    gameNodes: ReturnType<typeof node>[],
    {
      needed = session,
      loads = {},
      waiting = [],
    }: {
      needed?: typeof session;
      loads?: Record<string, typeof session>;
      waiting?: (typeof session)[];
    } = {},
  ) => shortageOf(needed, { gameNodes, loadOn: ({ metadata }) => loads[metadata.name] ?? noShare, waiting });

  it("is nothing where a node has room, or says nothing of its memory, or where there is no node", () => {
    expect(shortage([node("a", { slots: 0 }), node("b")])).to.equal(undefined);
    expect(
      shortage([aGameNode("a", { status: { capacity: { slots: 1, used: 0, schedulable: true } } })], {
        needed: { ...session, memoryBytes: 1e15 },
      }),
    ).to.equal(undefined);
    expect(shortage([])).to.equal(undefined);
  });

  it("says what sessions have taken on every node that takes sessions", () => {
    const most = { slots: 1, cpuMillicores: 1000, memoryBytes: 3.5 * gibibyte };
    expect(shortage([node("a"), node("b", { schedulable: false })], { loads: { a: most } })).to.deep.equal({
      lacks: ["memory"],
      isTooLarge: false,
      needed: { slots: 1, cpuMillicores: 750, memoryBytes: 1.25 * gibibyte },
    });
    expect(
      shortage([node("a")], { loads: { a: { ...most, cpuMillicores: 3500, memoryBytes: 0 } } }),
    ).to.deep.include({ lacks: ["processors"] });
    expect(shortage([node("a")], { loads: { a: { ...most, slots: 4 } } })).to.deep.include({
      lacks: ["slots"],
    });
    expect(
      shortage([node("a"), node("b")], { loads: { a: { ...most, slots: 4 }, b: most } }),
      "the node with free slots tells",
    ).to.deep.include({ lacks: ["memory"] });
  });

  it("says when no node is large enough", () => {
    expect(shortage([node("a")], { needed: { ...session, memoryBytes: 4 * gibibyte } })).to.deep.include({
      lacks: ["memory"],
      isTooLarge: true,
    });
    const either = [
      node("a", { offered: { cpuMillicores: 100, memoryBytes: 1e12 } }),
      node("b", { offered: { cpuMillicores: 9000, memoryBytes: 100 } }),
    ];
    expect(shortage(either)).to.deep.include({ lacks: ["memory", "processors"], isTooLarge: true });
    expect(shortage([node("a")], { needed: { ...session, slots: 5 } })).to.deep.include({
      lacks: ["slots"],
      isTooLarge: true,
    });
    expect(shortage([node("a")], { needed: { ...session, cpuMillicores: 3750 } })).to.equal(undefined);
  });

  it("counts sessions that wait for a node where they will fit", () => {
    const waiting = [{ ...session, memoryBytes: 3 * gibibyte }];
    expect(shortage([node("a")], { waiting })).to.deep.include({ lacks: ["memory"], isTooLarge: false });
    expect(shortage([node("a"), node("b")], { waiting })).to.equal(undefined);
    expect(
      shortage([node("a")], { waiting: [{ ...session, memoryBytes: 30 * gibibyte }] }),
      "one that fits nowhere takes nothing",
    ).to.equal(undefined);
  });
});

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

  it("counts an admin's own sessions, until they end", () => {
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
    expect(loads.on(node)).to.deep.equal({ slots: 2, cpuMillicores: 750, memoryBytes: 2 * gibibyte + 5 });
    expect(new SessionLoads(cache).on(node).slots, "begins with what is there").to.equal(2);
    cache.upsert(aSession(aPlacedStatus({ conditions: [aCondition("Finished")] })));
    expect(loads.on(node)).to.deep.equal(noShare);
    expect(loads.has("a")).to.equal(false);
  });
});
