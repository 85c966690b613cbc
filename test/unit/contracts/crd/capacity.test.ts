import { expect } from "chai";
import type { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { noShare, shortageOf, NodeLoads, sessionsMax } from "#contracts/crd/capacity.ts";
import { aGameNode } from "#test/factories/gameNode.ts";

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
  ) =>
    shortageOf(needed, {
      gameNodes,
      loads: { on: (name) => loads[name] ?? noShare, sessionsOn: () => 0 },
      waiting,
    });

  it("returns undefined if a node has room or reports no resources, and without nodes", () => {
    expect(shortage([node("a", { slots: 0 }), node("b")])).to.equal(undefined);
    expect(
      shortage([aGameNode("a", { status: { capacity: { slots: 1, used: 0, schedulable: true } } })], {
        needed: { ...session, memoryBytes: 1e15 },
      }),
    ).to.equal(undefined);
    expect(shortage([])).to.equal(undefined);
  });

  it("returns what sessions have used up on every schedulable node", () => {
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

  it("reports when no node is large enough", () => {
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

  it("counts waiting sessions on a node where they fit", () => {
    const waiting = [{ ...session, memoryBytes: 3 * gibibyte }];
    expect(shortage([node("a")], { waiting })).to.deep.include({ lacks: ["memory"], isTooLarge: false });
    expect(shortage([node("a"), node("b")], { waiting })).to.equal(undefined);
    expect(
      shortage([node("a")], { waiting: [{ ...session, memoryBytes: 30 * gibibyte }] }),
      "one that fits nowhere takes nothing",
    ).to.equal(undefined);
  });
});

describe("NodeLoads", () => {
  const share = { slots: 2, cpuMillicores: 500, memoryBytes: gibibyte };
  const on = (...nodeNames: string[]) => new Map(nodeNames.map((name) => [name, share]));

  it("sums shares by node, and replaces a session's former shares", () => {
    const loads = new NodeLoads();
    loads.set("a", on("node1"));
    loads.set("b", on("node1", "node2"));
    expect(loads.on("node1")).to.deep.equal({ slots: 4, cpuMillicores: 1000, memoryBytes: 2 * gibibyte });
    expect([loads.sessionsOn("node1"), loads.sessionsOn("node2"), loads.sessions]).to.deep.equal([2, 1, 2]);
    loads.set("b", on("node2"));
    expect(loads.on("node1")).to.deep.equal(share);
    expect(loads.ofSession("b", "node1")).to.equal(undefined);
    loads.set("b", on());
    expect([loads.has("b"), loads.sessionsOn("node2")]).to.deep.equal([false, 0]);
    expect(loads.on("node2")).to.deep.equal(noShare);
  });

  it("leaves out one session", () => {
    const loads = new NodeLoads();
    loads.set("a", on("node1"));
    loads.set("b", on("node1"));
    expect(loads.on("node1", "a")).to.deep.equal(share);
    expect(loads.on("node1", "c").slots).to.equal(4);
  });
});

describe("sessionsMax", () => {
  const aNode = (name: string, slots: number, schedulable = true) =>
    aGameNode(name, { status: { capacity: { slots, used: 0, schedulable } } });

  it("adds the slots of schedulable nodes and the sessions on other nodes", () => {
    const loads = new NodeLoads();
    loads.set("a", new Map([["open", noShare]]));
    loads.set("b", new Map([["cordoned", noShare]]));
    loads.set("c", new Map([["gone", noShare]]));
    expect(sessionsMax([aNode("open", 3), aNode("cordoned", 5, false)], loads)).to.equal(5);
  });
});
