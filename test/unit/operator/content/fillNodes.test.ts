import { expect } from "chai";
import type { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { createCluster } from "#operator/cluster/cluster.ts";
import { fillOf } from "#operator/content/fill.ts";
import { fillNodesOf } from "#operator/content/fillPlan.ts";
import { Heartbeats } from "#operator/nodes/nodeHealth.ts";
import { aGameCache } from "#test/factories/gameCache.ts";
import { aCacheEntry, aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const takesSessions = { slots: 2, used: 0, schedulable: true };
const takesNone = {
  ...takesSessions,
  schedulable: false,
  unschedulable: { reason: "NodeCordoned", message: "The node is cordoned." },
};

interface Given {
  status?: GameNodeStatus;
  isReady?: boolean;
  isHeard?: boolean;
  /** Whether the node holds the game. */
  holds?: boolean;
}

function fillNodes(given: Record<string, Given>) {
  const cluster = createCluster();
  const heartbeats = new Heartbeats(new FakeClock(), 35_000);
  for (const [name, { status = {}, isReady = true, isHeard = true, holds = false }] of Object.entries(
    given,
  )) {
    const gameNode = aGameNode(name, { status, entries: holds ? [aCacheEntry()] : [] });
    cluster.nodes.upsert(aNode(name, { isReady }));
    cluster.gameNodes.upsert(gameNode);
    if (isHeard) heartbeats.observe(gameNode);
  }
  return fillNodesOf(cluster, heartbeats);
}

describe("fillNodesOf", () => {
  const cases: [string, Given, boolean][] = [
    ["takes sessions", { status: { capacity: takesSessions } }, true],
    ["is new and whose GameNode does not report capacity yet", {}, true],
    [
      "does not have its pinned games yet",
      {
        status: {
          capacity: takesSessions,
          conditions: [aCondition("Filled", { status: "False", reason: "Filling" })],
        },
      },
      true,
    ],
    [
      "is unschedulable by its GameNode while kubelet and agent report",
      { status: { capacity: takesNone } },
      false,
    ],
    [
      "has a silent kubelet, before its GameNode says so",
      { status: { capacity: takesSessions }, isReady: false },
      false,
    ],
    [
      "has a silent agent, before its GameNode says so",
      { status: { capacity: takesSessions }, isHeard: false },
      false,
    ],
  ];
  for (const [what, given, isSchedulable] of cases) {
    it(`treats a node as ${isSchedulable ? "schedulable" : "not schedulable"} that ${what}`, () =>
      expect(fillNodes({ a: given })[0]).to.include({ isSchedulable }));
  }

  it("makes policy Count prefer a schedulable node to an unschedulable one that holds the game", () => {
    const cache = aGameCache({ spec: { placement: { policy: "Count", count: 1 } } });
    const chosen = (status: GameNodeStatus): string[] => [
      ...fillOf(
        cache,
        fillNodes({ a: { status, holds: true }, b: { status: { capacity: takesSessions } } }),
      ).keys(),
    ];
    expect(chosen({ capacity: takesSessions })).to.deep.equal(["a"]);
    expect(chosen({ capacity: takesNone })).to.deep.equal(["b"]);
  });
});
