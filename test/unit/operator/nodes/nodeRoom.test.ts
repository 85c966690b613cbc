import { expect } from "chai";
import { decodeObject } from "#kube/client/decode.ts";
import { aNode } from "#test/factories/gameNode.ts";
import { createCluster } from "#operator/cluster/cluster.ts";
import { otherPods } from "#operator/cluster/watchedPods.ts";
import { offeredBy, OtherRequests } from "#operator/nodes/nodeRoom.ts";

function aPod(
  name: string,
  resourceVersion: string,
  { nodeName = "node1", memory = "64Mi", hostPort = 0 } = {},
) {
  const ports =
    hostPort === 0
      ? []
      : [
          { containerPort: 1, hostPort, protocol: "UDP" },
          { containerPort: 2, hostPort: hostPort + 1, protocol: "TCP" },
        ];
  return decodeObject(otherPods, {
    metadata: {
      name,
      namespace: "kube-system",
      uid: `uid-of-${name}`,
      resourceVersion,
      creationTimestamp: "2030-01-01T10:00:00Z",
      annotations: { secret: "s3cret" },
    },
    spec: {
      nodeName,
      containers: [
        {
          name: "c",
          env: [{ name: "TOKEN", value: "s3cret" }],
          resources: { requests: { cpu: "100m", memory } },
          ports,
        },
      ],
    },
    status: { phase: "Running" },
  });
}

describe("OtherRequests", () => {
  it("sums up the requests of the existing pods by node", () => {
    const cluster = createCluster();
    cluster.otherPods.upsert(aPod("early", "1"));
    const requests = new OtherRequests(cluster);
    cluster.otherPods.upsert(aPod("late", "2", { memory: "32Mi" }));
    cluster.otherPods.upsert(aPod("elsewhere", "3", { nodeName: "node2" }));
    expect(requests.on("node1")).to.deep.equal({ cpuMillicores: 200, memoryBytes: 96 * 2 ** 20 });
    cluster.otherPods.upsert(aPod("late", "4", { memory: "128Mi" }));
    expect(requests.on("node1").memoryBytes).to.equal(192 * 2 ** 20);
    cluster.otherPods.remove(aPod("late", "5", { memory: "1Mi" }));
    cluster.otherPods.remove(aPod("early", "6"));
    expect(requests.on("node1")).to.deep.equal({ cpuMillicores: 0, memoryBytes: 0 });
  });

  it("returns the UDP ports that existing pods take on a node", () => {
    const cluster = createCluster();
    const requests = new OtherRequests(cluster);
    cluster.otherPods.upsert(aPod("a", "1", { hostPort: 20_000 }));
    cluster.otherPods.upsert(aPod("b", "2", { hostPort: 20_000 }));
    expect([...requests.udpPortsOn("node1")]).to.deep.equal([20_000]);
    expect([...requests.udpPortsOn("node2")]).to.deep.equal([]);
    cluster.otherPods.remove(aPod("a", "3", { hostPort: 20_000 }));
    expect([...requests.udpPortsOn("node1")]).to.deep.equal([20_000]);
    cluster.otherPods.upsert(aPod("b", "4"));
    expect([...requests.udpPortsOn("node1")]).to.deep.equal([]);
  });

  it("stores nothing for pods that do not count", () => {
    expect(JSON.stringify(aPod("a", "1"))).to.not.contain("s3cret");
  });
});

describe("offeredBy", () => {
  it("returns the allocatable resources minus the requests of other pods", () => {
    const node = aNode("node1", { allocatable: { cpu: "4", memory: "8Gi" } });
    expect(offeredBy(node, { cpuMillicores: 500, memoryBytes: 2 ** 30 })).to.deep.equal({
      cpuMillicores: 3500,
      memoryBytes: 7 * 2 ** 30,
    });
    expect(offeredBy(node, { cpuMillicores: 5000, memoryBytes: 2 ** 40 })).to.deep.equal({
      cpuMillicores: 0,
      memoryBytes: 0,
    });
  });

  it("returns undefined if the node does not report its resources", () => {
    expect(
      offeredBy(aNode("node1", { allocatable: { "nvidia.com/gpu": "1" } }), {
        cpuMillicores: 0,
        memoryBytes: 0,
      }),
    ).to.equal(undefined);
  });
});
