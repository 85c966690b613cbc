import { expect } from "chai";
import { silentLogger } from "#runtime/logger.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { Heartbeats } from "#operator/nodes/nodeHealth.ts";
import { NodeLosses } from "#operator/nodes/nodeLosses.ts";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const staleMs = 35_000;

describe("NodeLosses", () => {
  let clock: FakeClock;
  let cluster: Cluster;
  let heartbeats: Heartbeats;
  let losses: NodeLosses;
  let versions = 1;
  let braked: boolean[];

  beforeEach(() => {
    clock = new FakeClock();
    cluster = createCluster();
    follow();
  });

  /** Simulates a new process, which knows only what the cluster shows. */
  function follow(brakePercent = 50): void {
    heartbeats = new Heartbeats(clock, staleMs);
    for (const gameNode of cluster.gameNodes.list()) heartbeats.observe(gameNode);
    braked = [];
    losses = new NodeLosses({
      cluster,
      heartbeats,
      brakePercent,
      clock,
      returnMs: staleMs,
      logger: silentLogger,
      metrics: { nodeLossBraked: (isBraked) => void braked.push(isBraked) },
    });
  }

  const namesOf = (count: number, first = 1): string[] =>
    Array.from({ length: count }, (_, index) => `node${first + index}`);
  const newer = <T extends { metadata: { resourceVersion: string } }>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(++versions) },
  });

  function kubelet(name: string, isReady: boolean): void {
    cluster.nodes.upsert(newer(aNode(name, { isReady })));
  }

  function beat(name: string, isDeclaredLost = false): void {
    const conditions = isDeclaredLost ? [aCondition("Lost")] : [];
    const gameNode = newer(
      aGameNode(name, {
        status: {
          conditions,
          heartbeat: {
            renewedAt: new Date(clock.now().getTime() + versions).toISOString(),
            agentVersion: "1",
          },
        },
      }),
    );
    cluster.gameNodes.upsert(gameNode);
    heartbeats.observe(gameNode);
  }

  /** Writes the operator's conclusion, without a report of the agent. */
  function declareLost(name: string): void {
    const { heartbeat } = cluster.gameNodes.get(name)?.status ?? {};
    cluster.gameNodes.upsert(
      newer(aGameNode(name, { status: { conditions: [aCondition("Lost")], heartbeat } })),
    );
  }

  function nodes(names: readonly string[]): void {
    for (const name of names) {
      kubelet(name, true);
      beat(name);
    }
  }

  const healths = (names: readonly string[]): string[] => names.map((name) => losses.healthOf(name));

  /** Removes both signals of these nodes, but not of the others. */
  async function cutOff(names: readonly string[], others: readonly string[]): Promise<void> {
    await clock.advance(staleMs);
    for (const name of names) kubelet(name, false);
    for (const name of others) beat(name);
  }

  const cases: [silent: number, of: number, health: string][] = [
    [1, 1, "Lost"],
    [2, 2, "Lost"],
    [2, 3, "Lost"],
    [3, 3, "Unknown"],
    [2, 4, "Lost"],
    [3, 4, "Unknown"],
    [3, 6, "Lost"],
    [4, 6, "Unknown"],
    [50, 100, "Lost"],
    [51, 100, "Unknown"],
  ];
  for (const [silent, of, health] of cases) {
    it(`returns ${health} if ${silent} of ${of} game nodes fall silent together`, async () => {
      nodes(namesOf(of));
      await cutOff(namesOf(silent), namesOf(of - silent, silent + 1));
      expect(new Set(healths(namesOf(silent)))).to.deep.equal(new Set([health]));
      expect(healths(namesOf(of - silent, silent + 1)).every((other) => other === "Healthy")).to.equal(true);
      expect(braked.at(-1)).to.equal(health === "Unknown");
    });
  }

  it("does not declare the first of many nodes lost when their signals disappear one after another", async () => {
    const names = namesOf(6);
    // Agents report every ten seconds.
    for (const name of names) {
      nodes([name]);
      await clock.advance(2_000);
    }
    for (const name of names) {
      await clock.advance(name === "node1" ? staleMs - 12_000 : 2_000);
      expect(losses.isSilent(name), "its kubelet counts as ready").to.equal(false);
      kubelet(name, false);
      expect(losses.healthOf(name), name).to.equal("Unknown");
    }
  });

  it("waits for nodes that return one after another", async () => {
    nodes(namesOf(3));
    await cutOff(namesOf(3), []);
    expect(new Set(healths(namesOf(3)))).to.deep.equal(new Set(["Unknown"]));
    kubelet("node1", true);
    beat("node1");
    expect(healths(namesOf(3))).to.deep.equal(["Healthy", "Unknown", "Unknown"]);
    await clock.advance(10_000);
    kubelet("node2", true);
    beat("node2");
    expect(healths(namesOf(3))).to.deep.equal(["Healthy", "Healthy", "Unknown"]);
    await clock.advance(staleMs - 10_000);
    for (const name of namesOf(2)) beat(name);
    expect(healths(namesOf(3))).to.deep.equal(["Healthy", "Healthy", "Lost"]);
  });

  it("declares the rest lost some time after most have returned", async () => {
    nodes(namesOf(4));
    await cutOff(namesOf(4), []);
    expect(new Set(healths(namesOf(4)))).to.deep.equal(new Set(["Unknown"]));
    for (const name of namesOf(2, 3)) {
      kubelet(name, true);
      beat(name);
    }
    expect(healths(namesOf(4))).to.deep.equal(["Unknown", "Unknown", "Healthy", "Healthy"]);
    await clock.advance(staleMs);
    for (const name of namesOf(2, 3)) beat(name);
    expect(healths(namesOf(4))).to.deep.equal(["Lost", "Lost", "Healthy", "Healthy"]);
    expect(braked).to.deep.equal([false, true, false]);
  });

  it("does not count nodes that were declared lost, even after a restart", async () => {
    const [dead, alive] = [namesOf(6), namesOf(4, 7)];
    nodes([...dead, ...alive]);
    for (const name of dead) {
      await cutOff(
        [name],
        [...dead, ...alive].filter(
          (other) => cluster.nodes.get(other)?.status?.conditions?.[0]?.status === "True" && other !== name,
        ),
      );
      expect(losses.healthOf(name)).to.equal("Lost");
      declareLost(name);
    }
    follow();
    expect(losses.healthOf("node1"), "not heard since").to.equal("Lost");
    for (const name of alive) beat(name);
    await cutOff(["node7"], namesOf(3, 8));
    expect(losses.healthOf("node7")).to.equal("Lost");
  });

  it("keeps a node lost until its kubelet or agent reports again", async () => {
    nodes(namesOf(2));
    await cutOff(namesOf(2), []);
    for (const name of namesOf(2)) declareLost(name);
    follow();
    kubelet("node1", true);
    beat("node2", true);
    expect(healths(namesOf(2))).to.deep.equal(["Healthy", "Unknown"]);
  });

  it("declares a removed node lost at once", async () => {
    nodes(namesOf(4));
    await cutOff(namesOf(4), []);
    for (const node of cluster.nodes.list()) cluster.nodes.remove(node);
    expect(new Set(healths(namesOf(4)))).to.deep.equal(new Set(["Lost"]));
  });

  it("does not count nodes whose agent has never reported", async () => {
    nodes(["node1"]);
    for (const name of namesOf(3, 2)) {
      kubelet(name, false);
      const gameNode = aGameNode(name);
      cluster.gameNodes.upsert(newer({ ...gameNode, status: {} }));
    }
    await cutOff(["node1"], []);
    expect(losses.healthOf("node1")).to.equal("Lost");
  });

  it("never brakes at 100 %", async () => {
    nodes(namesOf(4));
    follow(100);
    await cutOff(namesOf(4), []);
    expect(new Set(healths(namesOf(4)))).to.deep.equal(new Set(["Lost"]));
  });
});
