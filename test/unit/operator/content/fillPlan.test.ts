import { expect } from "chai";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { FillPlan } from "#operator/content/fillPlan.ts";
import { Heartbeats } from "#operator/nodes/nodeHealth.ts";
import type { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { aGameCache, anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry, aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { aSessionPod } from "#test/factories/sessionPod.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("FillPlan", () => {
  let clock: FakeClock;
  let cluster: Cluster;
  let heartbeats: Heartbeats;
  let plan: FillPlan;
  let version: number;

  beforeEach(() => {
    version = 1;
    clock = new FakeClock();
    cluster = createCluster();
    heartbeats = new Heartbeats(clock, 35_000);
    for (const name of ["a", "b"]) {
      cluster.nodes.upsert(aNode(name));
      report(name, 0);
    }
    cluster.gameCaches.upsert(aGameCache({ spec: { rollout: { maxParallelNodes: 1 } } }));
    plan = new FillPlan({ cluster, heartbeats, clock });
  });

  function report(name: string, beat: number, status: Partial<GameNodeStatus> = {}): void {
    const { cache } = aGameNode(name).status ?? {};
    const gameNode = aGameNode(name, {
      status: { cache, heartbeat: { renewedAt: new Date(beat).toISOString(), agentVersion: "1" }, ...status },
    });
    gameNode.metadata.resourceVersion = String(++version);
    cluster.gameNodes.upsert(gameNode);
    heartbeats.observe(gameNode);
  }

  const entries = (state: "Ready" | "Downloading", progressPercent = 50) => ({
    cache: {
      capacityBytes: 1,
      freeBytes: 1,
      entries: [aCacheEntry({ state, ...(state === "Ready" ? {} : { progressPercent }) })],
    },
  });
  const holds = (): (boolean | undefined)[] => ["a", "b"].map((name) => plan.wantedOn(name)[0]?.hold);

  it("is not recomputed for sessions, pods, heartbeats or download progress", () => {
    report("a", 0, entries("Downloading"));
    const before = plan.wantedOn("b");
    cluster.gameSessions.upsert(aGameSession({ status: aPlacedStatus({ nodeName: "a" }) }));
    cluster.pods.upsert(aSessionPod(aGameSession()));
    report("a", 10, entries("Downloading", 60));
    report("b", 10);
    expect(plan.wantedOn("b")).to.equal(before);
  });

  it("returns a node's pinned games regardless of turns", () => {
    const [pinned, older, suspended] = ["c".repeat(64), "d".repeat(64), "e".repeat(64)];
    const rollout = { maxParallelNodes: 1 };
    cluster.gameCaches.upsert(
      aGameCache({
        metadata: { name: "pinned" },
        spec: {
          source: anArchiveSource(pinned),
          previousSources: [anArchiveSource(older)],
          keepVersions: 2,
          pinned: true,
          rollout,
        },
      }),
    );
    cluster.gameCaches.upsert(
      aGameCache({
        metadata: { name: "suspended" },
        spec: { source: anArchiveSource(suspended), pinned: true, suspend: true },
      }),
    );
    for (const name of ["a", "b"])
      expect(plan.pinnedOn(name).map(({ digest }) => digest)).to.deep.equal([pinned]);
  });

  it("passes the turn to the next node when one is done", () => {
    expect(holds()).to.deep.equal([false, true]);
    report("a", 10, entries("Ready"));
    expect(holds()).to.deep.equal([false, false]);
  });

  it("skips the turn of a node while its agent is silent", async () => {
    expect(holds()).to.deep.equal([false, true]);
    await clock.advance(20_000);
    report("b", 20_000);
    await clock.advance(15_000);
    expect(holds()).to.deep.equal([true, false]);
    report("a", 35_000);
    expect(holds()).to.deep.equal([false, true]);
  });

  it("skips the turn of a node while its GameNode is unschedulable", () => {
    const capacity = { slots: 2, used: 0, schedulable: true };
    report("a", 0, { capacity });
    expect(holds()).to.deep.equal([false, true]);
    report("a", 0, { capacity: { ...capacity, schedulable: false } });
    expect(holds()).to.deep.equal([true, false]);
    report("a", 0, { capacity });
    expect(holds()).to.deep.equal([false, true]);
  });

  it("follows changes of kubelet health, labels and caches", () => {
    expect(holds()).to.deep.equal([false, true]);
    const silent = aNode("a", { isReady: false });
    silent.metadata.resourceVersion = "2";
    cluster.nodes.upsert(silent);
    expect(holds()).to.deep.equal([true, false]);
    cluster.gameCaches.remove(aGameCache());
    expect(holds()).to.deep.equal([undefined, undefined]);
  });
});
