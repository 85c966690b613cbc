import { expect } from "chai";
import { randomBytes } from "node:crypto";
import {
  gameNodeConditions,
  gameNodeKind,
  type GameNode,
  type GameNodeStatus,
} from "#contracts/crd/gameNode.ts";
import {
  gameSessionConditions,
  gameSessionKind,
  type GameSession,
  type GameSessionStatus,
} from "#contracts/crd/gameSession.ts";
import { heartbeatLabelsOf } from "#contracts/crd/installation.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import type { KubeRequest } from "#kube/client/request.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { aCondition, aDigest, aGameSessionSpec } from "#test/factories/gameSession.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";

const at = "2030-01-01T00:00:00Z";
const node = `node-${randomBytes(4).toString("hex")}`;
const otherNode = `${node}-other`;

type OwnNodeFields = "conditions" | "cache" | "heartbeat";
const othersOfNode = {
  observedGeneration: 7,
  capacity: { slots: 9, used: 0, schedulable: true },
  addresses: { internal: "192.0.2.66" },
} satisfies Required<Omit<GameNodeStatus, OwnNodeFields>>;

const othersOfSession = {
  observedGeneration: 7,
  phase: "Running",
  nodeName: otherNode,
  placement: { attempt: 2, assignedAt: at, triedNodes: [] },
  podIp: "10.0.0.66",
  podRef: { name: "gs-other", uid: "other" },
  address: "192.0.2.66",
  ports: { media: 20_066 },
  stream: { renderer: "other", encoder: "other", codec: "VP8", width: 640, height: 480, fps: 10 },
  startedAt: at,
  readyAt: at,
  stoppingAt: at,
  idleEndsAt: at,
  finishedAt: at,
  stopReason: "UserRequested",
  usage: { durationSeconds: 1, cpuSeconds: 1, peakMemoryBytes: 1 },
  gameEnd: { endedBy: "Itself" },
  exit: { code: 139, signal: "SIGSEGV" },
  streamSummary: { viewedSeconds: 1, averageFps: 1, averageKbps: 1, averageLoss: 0, width: 1, height: 1 },
  failure: { reason: "NodeLost", message: "lost" },
} satisfies Required<Omit<GameSessionStatus, "conditions" | "save">>;

const ofNode: GameNodeStatus = {
  conditions: gameNodeConditions.nodeAgent.map((type) => aCondition(type)),
  cache: { capacityBytes: 10, freeBytes: 5, entries: [aCacheEntry()] },
  heartbeat: { renewedAt: at, agentVersion: "1" },
};
const ofSession: GameSessionStatus = {
  conditions: gameSessionConditions.nodeAgent.map((type) => aCondition(type)),
  save: {
    objectKey: "saves/s1/1-x-1.tar.gz",
    sha256: aDigest,
    bytes: 1,
    generation: 1,
    sequence: 1,
    persistedAt: at,
    final: false,
  },
};

/** More than the agent's role gives it, so that what is refused is refused by the policies. */
const verbs = ["get", "create", "update", "patch", "delete"];
const moreRights = [
  {
    apiGroups: ["joypod.dev"],
    resources: ["gamenodes", "gamesessions", "gamecaches"].flatMap((plural) => [plural, `${plural}/status`]),
    verbs,
  },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs },
];

describe("the chart's policies for node agents", function () {
  this.timeout(90_000);
  let chart: InstalledChart;
  let agent: KubeTransport;

  before(async () => {
    chart = await InstalledChart.install();
    agent = await chart.agent(node, moreRights);
    const {
      server: { admin },
      sessionsNamespace: namespace,
    } = chart;
    const gameNodes = new ResourceClient<GameNode>(admin, gameNodeKind);
    const gameSessions = new ResourceClient<GameSession>(admin, gameSessionKind);
    for (const name of [node, otherNode])
      await gameNodes.create({ metadata: { name }, spec: { desired: [] } });
    for (const [name, nodeName] of [
      ["gs-here", node],
      ["gs-there", otherNode],
      ["gs-nowhere", undefined],
    ] as const) {
      await gameSessions.create({ metadata: { name, namespace }, spec: aGameSessionSpec() });
      if (nodeName === undefined) continue;
      const status: GameSessionStatus = {
        nodeName,
        phase: "Preparing",
        conditions: [aCondition("Scheduled")],
      };
      await gameSessions.applyStatus(
        { metadata: { name, namespace }, status },
        { fieldManager: fieldManagers.operator },
      );
    }
  });

  const nodePath = (name: string): string => `/apis/joypod.dev/v1alpha1/gamenodes/${name}`;
  const namespaced = (name: string): string =>
    `/apis/joypod.dev/v1alpha1/namespaces/${chart.sessionsNamespace}/${name}`;
  const kindOf = (path: string): string => (path.includes("gamenodes") ? "GameNode" : "GameSession");

  /** The agent's own way of writing a status. */
  const apply = (path: string, status: object): KubeRequest => ({
    method: "PATCH",
    path: `${path}/status`,
    query: { fieldManager: fieldManagers.nodeAgent, force: true, dryRun: "All" },
    contentType: "application/apply-patch+yaml",
    body: {
      apiVersion: "joypod.dev/v1alpha1",
      kind: kindOf(path),
      metadata: { name: path.split("/").at(-1) },
      status,
    },
  });
  const merge = (path: string, body: object): KubeRequest => ({
    method: "PATCH",
    path,
    query: { dryRun: "All" },
    contentType: "application/merge-patch+json",
    body,
  });
  const ownLease = "a node agent may renew only the Lease of its node";
  const renewal = {
    spec: { holderIdentity: node, renewTime: "2030-01-01T00:00:00.000000Z", leaseDurationSeconds: 35 },
  };
  const leasePath = (name: string): string =>
    `/apis/coordination.k8s.io/v1/namespaces/${chart.nodesNamespace}/leases${name === "" ? "" : `/${name}`}`;
  const createLease = (name: string, labels: Record<string, string>): Promise<unknown> =>
    chart.server.admin.request({
      method: "POST",
      path: leasePath(""),
      body: { metadata: { name, labels }, spec: {} },
    });
  const errorOf = (request: KubeRequest): Promise<string | undefined> => chart.errorOf(agent, request);

  it("let an agent write its reports about its node and the sessions on it", async () => {
    expect(await errorOf(apply(nodePath(node), ofNode))).to.equal(undefined);
    expect(await errorOf(apply(namespaced("gamesessions/gs-here"), ofSession))).to.equal(undefined);
  });

  it("let it write nothing about other nodes, or sessions that are not on its own", async () => {
    const others = "only the GameNode of its node and the GameSessions placed there";
    expect(await errorOf(apply(nodePath(otherNode), ofNode))).to.contain(others);
    for (const name of ["gs-there", "gs-nowhere"])
      expect(await errorOf(apply(namespaced(`gamesessions/${name}`), ofSession)), name).to.contain(others);
  });

  it("let it write nothing with a token that is not bound to a node", async () => {
    const account = await chart.account("node-agent", moreRights);
    expect(await chart.errorOf(account, apply(nodePath(node), ofNode))).to.contain(
      "only the GameNode of its node",
    );
  });

  it("let it renew the Lease of its node, and change nothing else of it", async () => {
    await createLease(node, heartbeatLabelsOf({ name: "" }));
    expect(await errorOf(merge(leasePath(node), renewal))).to.equal(undefined);
    const onlyRenewal = "a node agent must not change the metadata of its Lease";
    for (const metadata of [
      { labels: { a: "b" } },
      { annotations: { a: "b" } },
      { finalizers: ["a.example.com/b"] },
      { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a", uid: "b" }] },
    ]) {
      expect(await errorOf(merge(leasePath(node), { metadata })), JSON.stringify(metadata)).to.contain(
        onlyRenewal,
      );
    }
    expect(await errorOf({ method: "DELETE", path: leasePath(node), query: { dryRun: "All" } })).to.contain(
      ownLease,
    );
  });

  it("let it neither create a Lease nor renew that of another node, whatever its name", async () => {
    await createLease(otherNode, heartbeatLabelsOf({ name: "" }));
    expect(await errorOf(merge(leasePath(otherNode), renewal)), "another node's").to.contain(ownLease);
    const [third, stranger] = [`${node}-third`, await chart.agent(`${node}-third`, moreRights)];
    expect(
      await chart.errorOf(stranger, {
        method: "POST",
        path: leasePath(""),
        query: { dryRun: "All" },
        body: { metadata: { name: third }, spec: {} },
      }),
    ).to.contain(ownLease);
    await createLease(third, {});
    expect(
      await chart.errorOf(stranger, merge(leasePath(third), renewal)),
      "one of its name that is no heartbeat",
    ).to.contain(ownLease);
    const account = await chart.account("node-agent", moreRights);
    expect(
      await chart.errorOf(account, merge(leasePath(otherNode), renewal)),
      "by a token of no node",
    ).to.contain(ownLease);
  });

  it("let it write only the status", async () => {
    const writes: KubeRequest[] = [
      merge(nodePath(node), { spec: { desired: [] }, metadata: { labels: { a: "b" } } }),
      { method: "DELETE", path: nodePath(node), query: { dryRun: "All" } },
      merge(namespaced("gamesessions/gs-here"), { spec: { desiredState: "Stopped" } }),
      { method: "DELETE", path: namespaced("gamesessions/gs-here"), query: { dryRun: "All" } },
      {
        method: "POST",
        path: namespaced("gamesessions"),
        query: { dryRun: "All" },
        body: {
          apiVersion: "joypod.dev/v1alpha1",
          kind: "GameSession",
          metadata: { name: "gs-new" },
          spec: aGameSessionSpec(),
        },
      },
    ];
    for (const write of writes)
      expect(await errorOf(write), `${write.method} ${write.path}`).to.contain(
        "a node agent may write only the status",
      );
  });

  it("let it write no part of a GameCache", async () => {
    const source = {
      bucket: "joypod",
      key: "archives/a",
      sha256: aDigest,
      sizeBytes: 1,
      unpackedSizeBytes: 1,
    };
    const cache = {
      apiVersion: "joypod.dev/v1alpha1",
      kind: "GameCache",
      metadata: { name: "my-game" },
      spec: { source },
    };
    await chart.server.admin.request({ method: "POST", path: namespaced("gamecaches"), body: cache });
    const path = namespaced("gamecaches/my-game");
    const writes: KubeRequest[] = [
      merge(path, { spec: { priority: 9 } }),
      merge(`${path}/status`, { status: { cachedNodes: 9 } }),
      { method: "DELETE", path, query: { dryRun: "All" } },
    ];
    for (const write of writes)
      expect(await errorOf(write), `${write.method} ${write.path}`).to.contain(
        "a node agent must not write a GameCache",
      );
  });

  for (const [field, value] of Object.entries(othersOfNode)) {
    it(`prevent it from changing status.${field} of its GameNode`, async () => {
      expect(await errorOf(apply(nodePath(node), { ...ofNode, [field]: value }))).to.contain(
        `a node agent must not write status.${field}`,
      );
    });
  }

  for (const [field, value] of Object.entries(othersOfSession)) {
    it(`prevent it from changing status.${field} of its GameSessions`, async () => {
      expect(
        await errorOf(apply(namespaced("gamesessions/gs-here"), { ...ofSession, [field]: value })),
      ).to.contain(`a node agent must not write status.${field}`);
    });
  }

  it("prevent it from removing others' fields", async () => {
    expect(
      await errorOf(merge(`${namespaced("gamesessions/gs-here")}/status`, { status: { nodeName: null } })),
    ).to.contain("must not write status.nodeName");
  });

  it("prevent it from adding, changing and removing others' conditions", async () => {
    const session = namespaced("gamesessions/gs-here");
    const writes: [KubeRequest, string][] = [
      [
        apply(nodePath(node), { conditions: [aCondition("Ready")] }),
        "may write only the conditions StoreReachable, DiskPressure, SessionsSetAside",
      ],
      [
        apply(session, { conditions: [aCondition("Ready")] }),
        "may write only the conditions ContentReady, SaveRestored, SavePersisted",
      ],
      [
        apply(session, { conditions: [aCondition("Scheduled", { status: "False" })] }),
        "may write only the conditions ContentReady, SaveRestored, SavePersisted",
      ],
      [
        merge(`${session}/status`, { status: { conditions: [] } }),
        "may write only the conditions ContentReady, SaveRestored, SavePersisted",
      ],
    ];
    for (const [write, message] of writes)
      expect(await errorOf(write), JSON.stringify(write.body)).to.contain(message);
  });

  it("let it remove an unknown condition left by an agent of another release, but none of the operator's", async () => {
    const name = `${node}-upgraded`;
    const upgraded = await chart.agent(name, moreRights);
    const {
      server: { admin },
      sessionsNamespace: namespace,
    } = chart;
    const [gameNodes, gameSessions] = [
      new ResourceClient<GameNode>(admin, gameNodeKind),
      new ResourceClient<GameSession>(admin, gameSessionKind),
    ];
    const [ofOtherRelease, byOperator, byAgent] = [
      aCondition("OfOtherRelease"),
      { fieldManager: fieldManagers.operator },
      { fieldManager: fieldManagers.nodeAgent },
    ];
    await gameNodes.create({ metadata: { name }, spec: { desired: [] } });
    await gameNodes.applyStatus(
      { metadata: { name }, status: { conditions: [aCondition("Ready")] } },
      byOperator,
    );
    await gameNodes.applyStatus({ metadata: { name }, status: { conditions: [ofOtherRelease] } }, byAgent);
    await gameSessions.create({ metadata: { name, namespace }, spec: aGameSessionSpec() });
    await gameSessions.applyStatus(
      {
        metadata: { name, namespace },
        status: { nodeName: name, phase: "Preparing", conditions: [aCondition("Scheduled")] },
      },
      byOperator,
    );
    await gameSessions.applyStatus(
      { metadata: { name, namespace }, status: { conditions: [ofOtherRelease] } },
      byAgent,
    );
    for (const [path, status] of [
      [nodePath(name), ofNode],
      [namespaced(`gamesessions/${name}`), ofSession],
    ] as const) {
      expect(await chart.errorOf(upgraded, apply(path, status)), path).to.equal(undefined);
      const writes = [
        apply(path, { conditions: [{ ...ofOtherRelease, status: "False" }] }),
        merge(`${path}/status`, { status: { conditions: [ofOtherRelease] } }),
      ];
      for (const write of writes)
        expect(await chart.errorOf(upgraded, write), JSON.stringify(write.body)).to.contain(
          "a node agent may write only the conditions",
        );
    }
  });
});
