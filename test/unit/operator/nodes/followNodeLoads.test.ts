import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { noShare, type NodeLoads } from "#contracts/crd/capacity.ts";
import { aCondition, aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { aSessionPod, ended } from "#test/factories/sessionPod.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { followNodeLoads } from "#operator/nodes/followNodeLoads.ts";

const mebibyte = 2 ** 20;
const overhead = { cpuMillicores: 250, memoryBytes: 256 * mebibyte };
const resources = { cpuMillicores: 500, memoryBytes: 512 * mebibyte, gpuShare: 2 };
const share = { slots: 2, cpuMillicores: 750, memoryBytes: (512 + 64 + 256) * mebibyte };

describe("followNodeLoads", () => {
  let cluster: Cluster;
  let loads: NodeLoads;
  let version = 1;

  beforeEach(() => {
    cluster = createCluster();
    loads = followNodeLoads(cluster, overhead);
  });

  function session(name: string, status?: GameSessionStatus) {
    const known = aGameSession({
      metadata: { name, resourceVersion: String(++version) },
      spec: { resources, saveVolumeBytes: 64 * mebibyte },
      ...(status === undefined ? {} : { status }),
    });
    cluster.gameSessions.upsert(known);
    return known;
  }
  const finished = (nodeName: string) => aPlacedStatus({ nodeName, conditions: [aCondition("Finished")] });

  it("counts sessions from their placement to their end, each once", () => {
    session("a");
    expect(loads.on("node1")).to.deep.equal(noShare);
    session("a", aPlacedStatus());
    session("a", aPlacedStatus({ address: "192.0.2.9" }));
    expect(loads.on("node1")).to.deep.equal(share);
    session("b", aPlacedStatus());
    expect(loads.on("node1")).to.deep.equal({
      slots: 4,
      cpuMillicores: 1500,
      memoryBytes: 2 * share.memoryBytes,
    });
    session("a", finished("node1"));
    expect(loads.on("node1")).to.deep.equal(share);
    cluster.gameSessions.remove({
      ...session("b", aPlacedStatus()),
      metadata: { ...aGameSession().metadata, name: "b", resourceVersion: String(++version) },
    });
    expect(loads.on("node1")).to.deep.equal(noShare);
  });

  it("counts a session with its pod once, and a pod that outlives its session until it ends", () => {
    const played = session("a", aPlacedStatus());
    cluster.pods.upsert(aSessionPod(played));
    expect(loads.on("node1")).to.deep.equal(share);
    session("a", finished("node1"));
    expect(loads.on("node1").slots).to.equal(2);
    cluster.pods.upsert({
      ...aSessionPod(played, { status: ended() }),
      metadata: { ...aSessionPod(played).metadata, resourceVersion: "2" },
    });
    expect(loads.on("node1")).to.deep.equal(noShare);
  });

  it("counts the pod's requests if they exceed the session's", () => {
    const pod = aSessionPod(session("a", aPlacedStatus()));
    cluster.pods.upsert({
      ...pod,
      spec: {
        ...pod.spec,
        containers: [{ name: "game", resources: { requests: { cpu: "3", memory: "64Mi" } } }],
      },
    });
    expect(loads.on("node1")).to.deep.equal({ ...share, cpuMillicores: 3000 });
  });

  it("counts a moving session on both nodes until its former pod is gone", () => {
    const moving = session("a", aPlacedStatus({ nodeName: "node2" }));
    const former = aSessionPod(moving, { nodeName: "node1" });
    cluster.pods.upsert(former);
    expect([loads.on("node1").slots, loads.on("node2").slots]).to.deep.equal([2, 2]);
    cluster.pods.remove(former);
    expect([loads.on("node1").slots, loads.on("node2").slots]).to.deep.equal([0, 2]);
  });

  it("leaves out one session", () => {
    session("a", aPlacedStatus());
    session("b", aPlacedStatus());
    expect(loads.on("node1", "joypod-sessions/a")).to.deep.equal(share);
    expect(loads.on("node1", "joypod-sessions/c").slots).to.equal(4);
  });

  it("includes what was already cached", () => {
    session("a", aPlacedStatus());
    expect(followNodeLoads(cluster, overhead).on("node1")).to.deep.equal(share);
  });
});
