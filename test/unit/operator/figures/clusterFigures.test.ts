import { expect } from "chai";
import { Registry } from "prom-client";
import type { GameNodeStatus } from "#contracts/crd/gameNode.ts";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { SavesWaiting, showClusterFigures } from "#operator/figures/clusterFigures.ts";
import { aGameCache } from "#test/factories/gameCache.ts";
import { aGameNode } from "#test/factories/gameNode.ts";
import {
  aCondition,
  aGameSession,
  after,
  aPlacedStatus,
  aRunningStatus,
} from "#test/factories/gameSession.ts";

describe("showClusterFigures", () => {
  let cluster: Cluster;
  let silent: string[];
  let used: Record<string, number>;
  let nowMs: number;
  let registry: Registry;

  beforeEach(() => {
    cluster = createCluster();
    silent = [];
    used = {};
    nowMs = 0;
    registry = new Registry();
    showClusterFigures({
      cluster,
      registry,
      nodeLosses: { isSilent: (name) => silent.includes(name) },
      savesWaiting: new SavesWaiting({
        gameSessions: cluster.gameSessions,
        clock: { monotonicMs: () => nowMs },
      }),
      loads: { on: (name) => ({ slots: used[name] ?? 0, cpuMillicores: 0, memoryBytes: 0 }) },
      launchSteps: { secondsOf: (key) => (key.endsWith("/gs-run") ? { scheduling: 0.25, booting: 2 } : {}) },
    });
  });

  const session = (name: string, status?: GameSessionStatus): void =>
    void cluster.gameSessions.upsert(
      aGameSession({ metadata: { name }, ...(status === undefined ? {} : { status }) }),
    );
  const node = (name: string, status: GameNodeStatus = {}): void =>
    void cluster.gameNodes.upsert(aGameNode(name, { status }));

  /** Returns the lines of a metric. */
  async function shown(name: string): Promise<string[]> {
    return (await registry.metrics())
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`))
      .map((line) => line.slice(name.length));
  }

  it("counts unfinished sessions by phase and node, including zeros", async () => {
    node("node1");
    session("gs-new");
    session("gs-run", aRunningStatus());
    session("gs-too", aRunningStatus());
    session("gs-prepared", aPlacedStatus());
    session("gs-over", aRunningStatus({ phase: "Finished", conditions: [aCondition("Finished")] }));
    expect(await shown("joypod_sessions")).to.have.members([
      '{phase="Pending",node=""} 1',
      '{phase="Preparing",node="node1"} 1',
      '{phase="Starting",node="node1"} 0',
      '{phase="Running",node="node1"} 2',
      '{phase="Stopping",node="node1"} 0',
    ]);
  });

  it("removes the gauges of deleted objects", async () => {
    session("gs-run", aRunningStatus({ nodeName: "node2" }));
    expect(await shown("joypod_sessions")).to.include('{phase="Running",node="node2"} 1');
    cluster.gameSessions.clear();
    expect(await shown("joypod_sessions")).to.deep.equal(['{phase="Pending",node=""} 0']);
    expect(await shown("joypod_session_info")).to.deep.equal([]);
  });

  it("shows slots, none of them free on an unschedulable node", async () => {
    used = { node1: 1, node2: 3 };
    node("node1", { capacity: { slots: 4, used: 0, schedulable: true } });
    node("node2", { capacity: { slots: 4, used: 0, schedulable: false } });
    node("node3");
    expect(await shown("joypod_game_node_slots")).to.deep.equal([
      '{node="node1"} 4',
      '{node="node2"} 4',
      '{node="node3"} 0',
    ]);
    expect(await shown("joypod_game_node_slots_used")).to.deep.equal([
      '{node="node1"} 1',
      '{node="node2"} 3',
      '{node="node3"} 0',
    ]);
    expect(await shown("joypod_game_node_slots_free")).to.deep.equal([
      '{node="node1"} 3',
      '{node="node2"} 0',
      '{node="node3"} 0',
    ]);
    expect(await shown("joypod_game_node_schedulable")).to.deep.equal([
      '{node="node1"} 1',
      '{node="node2"} 0',
      '{node="node3"} 0',
    ]);
  });

  it("shows silent nodes and known conditions", async () => {
    silent = ["node2"];
    node("node1", {
      conditions: [
        aCondition("Ready"),
        aCondition("DiskPressure", { status: "False" }),
        aCondition("Lost", { status: "Unknown" }),
      ],
    });
    node("node2");
    expect(await shown("joypod_game_node_silent")).to.deep.equal(['{node="node1"} 0', '{node="node2"} 1']);
    expect(await shown("joypod_game_node_condition")).to.have.members([
      '{node="node1",condition="Ready"} 1',
      '{node="node1",condition="DiskPressure"} 0',
    ]);
  });

  /**
   * Returns the status of a session that ended a minute after its launch, by the clock of the leader at that
   * time.
   */
  const over = (persisted: "True" | "False"): GameSessionStatus =>
    aRunningStatus({
      phase: "Finished",
      finishedAt: after(60).toISOString(),
      conditions: [aCondition("Finished"), aCondition("SavePersisted", { status: persisted })],
    });

  it("shows how many last saves wait on each node, and for how long by this process's clock", async () => {
    node("node1");
    node("node2");
    session("gs-a", over("False"));
    nowMs += 50_000;
    session("gs-b", over("False"));
    session("gs-c", over("True"));
    nowMs += 10_000;
    expect(await shown("joypod_saves_waiting")).to.deep.equal(['{node="node1"} 2', '{node="node2"} 0']);
    expect(await shown("joypod_saves_waiting_oldest_seconds")).to.deep.equal([
      '{node="node1"} 60',
      '{node="node2"} 0',
    ]);
  });

  it("forgets a save that was stored or whose session is gone", async () => {
    node("node1");
    session("gs-a", over("False"));
    nowMs += 50_000;
    session("gs-b", over("False"));
    nowMs += 10_000;
    cluster.gameSessions.upsert(
      aGameSession({ metadata: { name: "gs-a", resourceVersion: "2" }, status: over("True") }),
    );
    expect(await shown("joypod_saves_waiting_oldest_seconds")).to.deep.equal(['{node="node1"} 10']);
    cluster.gameSessions.clear();
    expect(await shown("joypod_saves_waiting_oldest_seconds")).to.deep.equal(['{node="node1"} 0']);
    session("gs-b", over("False"));
    nowMs += 5_000;
    expect(await shown("joypod_saves_waiting_oldest_seconds"), "another one of the name").to.deep.equal([
      '{node="node1"} 5',
    ]);
  });

  it("shows at most five hundred individual sessions, with their launch times", async () => {
    session("gs-run", aRunningStatus());
    expect(await shown("joypod_session_info")).to.deep.equal([
      '{session="gs-run",phase="Running",node="node1",game="the-question"} 1',
    ]);
    expect(await shown("joypod_session_launch_stage_seconds")).to.deep.equal([
      '{session="gs-run",stage="scheduling"} 0.25',
      '{session="gs-run",stage="booting"} 2',
    ]);
    for (let index = 0; index < 600; index++) session(`gs-${index}`);
    expect(await shown("joypod_session_info")).to.have.length(500);
    expect(await shown("joypod_sessions")).to.include('{phase="Pending",node=""} 600');
  });

  it("sums up the desired copies of games", async () => {
    cluster.gameCaches.upsert({
      ...aGameCache(),
      status: { cachedNodes: 2, pendingNodes: 1, failedNodes: 0 },
    });
    expect(await shown("joypod_game_cache_nodes")).to.deep.equal([
      '{state="cached"} 2',
      '{state="pending"} 1',
      '{state="failed"} 0',
    ]);
  });
});
