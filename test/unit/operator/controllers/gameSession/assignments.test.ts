import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Stored } from "#kube/api/object.ts";
import { aCacheEntry, aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aCondition, aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { aSessionPod, ended } from "#test/factories/sessionPod.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { Moments } from "#operator/controllers/gameSession/moments.ts";
import { Assignments } from "#operator/controllers/gameSession/assignments.ts";
import { OtherRequests } from "#operator/nodes/nodeRoom.ts";
import { Heartbeats } from "#operator/nodes/nodeHealth.ts";
import { followNodeLoads } from "#operator/nodes/followNodeLoads.ts";

describe("Assignments", () => {
  let clock: FakeClock;
  let cluster: Cluster;
  let assignments: Assignments;
  let heartbeats: Heartbeats;
  let moments: Moments;

  const config = {
    gameNodeSelector: [{ key: "nvidia.com/gpu.present", operator: "In" as const, values: ["true"] }],
    sessionNodeSelector: {},
    gpu: undefined,
    tolerations: [],
    softwareSlots: 2,
    mediaPorts: { first: 20_000, last: 20_003 },
    announceAddresses: [],
    podOverhead: { cpuMillicores: 250, memoryBytes: 256 * 2 ** 20 },
    timing: {
      heartbeatStaleMs: 35_000,
      portQuarantineMs: 60_000,
      unschedulableMs: 10_000,
      saveGiveUpMs: 600_000,
    },
  };

  beforeEach(() => {
    clock = new FakeClock(new Date("2030-01-01T10:00:00Z"));
    cluster = createCluster();
    heartbeats = new Heartbeats(clock, 35_000);
    moments = new Moments();
    assignments = new Assignments({
      cluster,
      config,
      heartbeats,
      moments,
      clock,
      loads: followNodeLoads(cluster, config.podOverhead),
      otherRequests: new OtherRequests(cluster),
    });
  });

  function addNode(
    name: string,
    options: Parameters<typeof aNode>[1] = {},
    entries = [] as Parameters<typeof aCacheEntry>[0][],
  ): void {
    const gameNode = aGameNode(name, { entries: entries.map((entry) => aCacheEntry(entry)) });
    cluster.nodes.upsert(aNode(name, options));
    cluster.gameNodes.upsert(gameNode);
    heartbeats.observe(gameNode);
  }

  function hear(node: string): void {
    heartbeats.observe({
      ...aGameNode(node),
      status: { heartbeat: { renewedAt: clock.now().toISOString(), agentVersion: "1" } },
    });
  }

  function addSession(name: string, status?: GameSession["status"]): Stored<GameSession> {
    const session = aGameSession({
      metadata: { name, resourceVersion: String(++version) },
      ...(status ? { status } : {}),
    });
    cluster.gameSessions.upsert(session);
    return session;
  }
  let version = 1;

  it("never shares a slot or a port between sessions placed at the same moment", () => {
    addNode("node1");
    addNode("node2");
    const places = ["a", "b", "c", "d", "e"].map((name) => assignments.assign(addSession(name)));
    const given = places.flatMap((place) =>
      "nodeName" in place ? [`${place.nodeName}:${place.mediaPort}`] : [place.reason],
    );
    expect(given).to.deep.equal(["node1:20000", "node2:20000", "node1:20001", "node2:20001", "NoCapacity"]);
  });

  it("returns the same assignment until the status shows it", () => {
    addNode("node1");
    addNode("node2");
    const session = addSession("a");
    const first = assignments.assign(session);
    assignments.assign(addSession("b"));
    expect(assignments.assign(session)).to.deep.include({ ...first });
    addSession("a", aPlacedStatus());
    expect(assignments.assign(addSession("c")), "a's slot still counts").to.deep.include({
      nodeName: "node1",
      mediaPort: 20_001,
    });
  });

  it("frees a place once the session has changed without it", () => {
    for (const name of ["node1", "node2"]) addNode(name);
    expect(assignments.assign(addSession("a", aPlacedStatus()), ["node1"])).to.deep.include({
      nodeName: "node2",
      mediaPort: 20_000,
    });
    expect(assignments.assign(addSession("b"), ["node1"]), "while it may be written").to.deep.include({
      nodeName: "node2",
      mediaPort: 20_001,
    });
    addSession("a", aPlacedStatus());
    expect(assignments.assign(addSession("c"), ["node1"])).to.deep.include({
      nodeName: "node2",
      mediaPort: 20_000,
    });
  });

  it("keeps a place while the cache shows the session's previous version", () => {
    for (const name of ["node1", "node2"]) addNode(name);
    const { metadata, ...cached } = addSession("a", aPlacedStatus());
    assignments.assign({ ...cached, metadata: { ...metadata, resourceVersion: String(++version) } }, [
      "node1",
    ]);
    expect(assignments.assign(addSession("b"), ["node1"])).to.deep.include({
      nodeName: "node2",
      mediaPort: 20_001,
    });
  });

  it("counts sessions that are not finished and pods that have not ended", () => {
    addNode("node1");
    addSession("a", aPlacedStatus());
    addSession(
      "b",
      aPlacedStatus({
        ports: { media: 20_001 },
        conditions: [aCondition("Finished")],
        finishedAt: "2030-01-01T09:00:00Z",
      }),
    );
    moments.note("joypod-sessions/b", { finishedAt: "b" }, clock.monotonicMs() - 60_000);
    const orphan = aGameSession({ metadata: { name: "orphan" } });
    cluster.pods.upsert(aSessionPod(orphan, { mediaPort: 20_002 }));
    expect(assignments.assign(addSession("c"))).to.deep.include({ reason: "NoCapacity" });
    cluster.pods.upsert({
      ...aSessionPod(orphan, { mediaPort: 20_002, status: ended() }),
      metadata: { ...aSessionPod(orphan).metadata, resourceVersion: "2" },
    });
    expect(assignments.assign(addSession("c"))).to.deep.include({ nodeName: "node1", mediaPort: 20_001 });
  });

  for (const [when, finishedAt] of [
    ["now", "2030-01-01T10:00:00Z"],
    ["ten minutes ago", "2030-01-01T09:50:00Z"],
    ["in ten minutes", "2030-01-01T10:10:00Z"],
  ] as const) {
    it(`quarantines a port after its pod or session is gone, which was ${when} by another clock`, () =>
      expectQuarantine(finishedAt));
  }

  it("quarantines the port of a finished session that was not reconciled yet", () => {
    addNode("node1");
    addSession(
      "done",
      aPlacedStatus({ conditions: [aCondition("Finished")], finishedAt: "2030-01-01T09:00:00Z" }),
    );
    expect(assignments.assign(addSession("a"))).to.deep.include({ mediaPort: 20_001 });
  });

  async function expectQuarantine(finishedAt: string): Promise<void> {
    addNode("node1");
    const gone = aSessionPod(aGameSession({ metadata: { name: "gone" } }), { mediaPort: 20_001 });
    cluster.pods.upsert(gone);
    cluster.pods.remove(gone);
    addSession(
      "done",
      aPlacedStatus({ ports: { media: 20_000 }, conditions: [aCondition("Finished")], finishedAt }),
    );
    moments.note("joypod-sessions/done", { finishedAt: "done" }, clock.monotonicMs());
    expect(assignments.assign(addSession("a"))).to.deep.include({ mediaPort: 20_002 });
    await clock.advance(60_000);
    hear("node1");
    expect(assignments.assign(addSession("b"))).to.deep.include({ mediaPort: 20_000 });
  }

  it("avoids a port for an hour after a pod was refused because of it, even if that pod is removed at once", async () => {
    addNode("node1");
    const refused = aSessionPod(aGameSession({ metadata: { name: "refused" } }));
    cluster.pods.upsert(refused);
    assignments.avoid("node1", 20_000);
    cluster.pods.remove(refused);
    await clock.advance(3_599_000);
    hear("node1");
    expect(assignments.assign(addSession("a"))).to.deep.include({ mediaPort: 20_001 });
    await clock.advance(1_000);
    expect(assignments.assign(addSession("b"))).to.deep.include({ mediaPort: 20_000 });
  });

  it("returns NoFreePort if the ports run out", () => {
    addNode("node1");
    for (let port = 20_000; port <= 20_003; port++) assignments.quarantine("node1", [port]);
    expect(assignments.assign(addSession("a"))).to.deep.include({ reason: "NoFreePort" });
  });

  it("chooses a worse node if all media ports of the best one are taken", () => {
    addNode("node1", {}, [{}]);
    addNode("node2");
    for (let port = 20_000; port <= 20_003; port++) assignments.quarantine("node1", [port]);
    expect(assignments.assign(addSession("a"))).to.deep.include({ nodeName: "node2", mediaPort: 20_000 });
  });

  it("returns NoFreePort with the nodes if no node with room has a port, and the missing resources if no node has room", () => {
    addNode("node1", { allocatable: { cpu: "8", memory: "2Gi" } });
    addNode("node2", { allocatable: { cpu: "8", memory: "2Gi" } });
    addNode("node3", { allocatable: { cpu: "8", memory: "1Gi" } });
    for (const node of ["node1", "node2"])
      for (let port = 20_000; port <= 20_003; port++) assignments.quarantine(node, [port]);
    expect(assignments.assign(addSession("a"))).to.deep.include({ nodeName: "node3" });
    expect(assignments.assign(addSession("b"))).to.deep.equal({
      reason: "NoFreePort",
      message: "All media ports of the game nodes with free slots are in use: node1, node2.",
    });
    expect(assignments.assign(addSession("c"), ["node1", "node2"])).to.deep.include({
      reason: "InsufficientResources",
    });
  });

  it("returns another port on the same node, and the same one again until the status shows it", () => {
    addNode("node1");
    const session = addSession("a", aPlacedStatus());
    expect(assignments.reassignPort(session, "node1")).to.deep.include({
      nodeName: "node1",
      mediaPort: 20_001,
    });
    expect(assignments.reassignPort(session, "node1")).to.deep.include({ mediaPort: 20_001 });
  });

  it("prefers a node that holds the game, and never an excluded one", () => {
    addNode("node1");
    addNode("node2", {}, [{}]);
    expect(assignments.assign(addSession("a"))).to.deep.include({ nodeName: "node2" });
    expect(assignments.assign(addSession("b"), ["node2"])).to.deep.include({ nodeName: "node1" });
    expect(assignments.assign(addSession("c"), ["node1", "node2"])).to.deep.include({
      reason: "NoGameNodes",
    });
  });

  it("skips nodes whose memory is taken by other sessions, including recent assignments", () => {
    // Each session takes 500m + 250m and 512 MiB + 256 MiB + 256 MiB.
    addNode("node1", { allocatable: { cpu: "8", memory: "3Gi" } }, [{}]);
    addNode("node2", { allocatable: { cpu: "800m", memory: "64Gi" } });
    const roomy = new Assignments({
      cluster,
      config: { ...config, softwareSlots: 10 },
      heartbeats,
      moments,
      clock,
      loads: followNodeLoads(cluster, config.podOverhead),
      otherRequests: new OtherRequests(cluster),
    });
    addSession("playing", aPlacedStatus({ ports: { media: 20_003 } }));
    const places = ["a", "b", "c", "d"].map((name) => roomy.assign(addSession(name)));
    expect(places.map((place) => ("nodeName" in place ? place.nodeName : place.reason))).to.deep.equal([
      "node1",
      "node1",
      "node2",
      "InsufficientResources",
    ]);
  });

  it("skips nodes with a failed check, and names the check", () => {
    addNode("node1");
    const gameNode = cluster.gameNodes.get("node1");
    const failed = {
      type: "RootExecutable",
      status: "False" as const,
      reason: "MountedNoexec",
      message: "No game would start.",
      lastTransitionTime: "2030-01-01T10:00:00Z",
    };
    const capacity = {
      slots: 2,
      used: 0,
      schedulable: false,
      unschedulable: { reason: failed.reason, message: failed.message },
    };
    if (gameNode)
      cluster.gameNodes.upsert({
        ...gameNode,
        metadata: { ...gameNode.metadata, resourceVersion: "2" },
        status: { ...gameNode.status, conditions: [failed], capacity },
      });
    expect(assignments.assign(addSession("a"))).to.deep.equal({
      reason: "NoGameNodes",
      message: "No game node is schedulable. node1: MountedNoexec: No game would start.",
    });
  });

  it("skips ports that other pods use", () => {
    addNode("node1");
    cluster.otherPods.upsert({
      ...aNode("other"),
      nodeName: "node1",
      requests: { cpuMillicores: 0, memoryBytes: 0 },
      udpPorts: [config.mediaPorts.first],
    });
    expect(assignments.assign(addSession("a"))).to.deep.include({ mediaPort: config.mediaPorts.first + 1 });
  });

  it("subtracts the requests of other pods", () => {
    addNode("node1", { allocatable: { cpu: "8", memory: "2Gi" } });
    const other = {
      ...aNode("other"),
      nodeName: "node1",
      requests: { cpuMillicores: 0, memoryBytes: 2 ** 30 + 1 },
      udpPorts: [],
    };
    cluster.otherPods.upsert(other);
    expect(assignments.assign(addSession("a"))).to.deep.include({ reason: "InsufficientResources" });
    cluster.otherPods.remove(other);
    expect(assignments.assign(addSession("a"))).to.deep.include({ nodeName: "node1" });
  });

  const unfit: [string, Parameters<typeof aNode>[1]][] = [
    ["is not ready", { isReady: false }],
    ["is cordoned", { isCordoned: true }],
    ["lacks the label", { labels: { "nvidia.com/gpu.present": "false" } }],
  ];
  for (const [what, options] of unfit) {
    it(`skips a node that ${what}`, () => {
      addNode("node1", options);
      expect(assignments.assign(addSession("a"))).to.deep.include({ reason: "NoGameNodes" });
    });
  }

  it("skips a node whose agent is silent", async () => {
    addNode("node1");
    await clock.advance(35_000);
    expect(assignments.assign(addSession("a"))).to.deep.include({ reason: "NoGameNodes" });
  });
});
