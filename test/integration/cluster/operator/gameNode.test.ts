import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Operator } from "#operator/operator.ts";
import { CountedTransport } from "#test/support/cluster/countedTransport.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { kstatusOf } from "#test/support/cluster/kstatus.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { watchOf } from "#test/support/cluster/seenRequests.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

describe("GameNode controller", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let name: string;
  let former: Operator;

  async function set(environment: Record<string, string> = {}): Promise<void> {
    fixture = await OperatorFixture.start({ environment });
    name = fixture.nodeNames[0] ?? "";
    former = (await fixture.startOperator()).operator;
  }

  afterEach(() => fixture.clear());

  async function gameNode(
    isRight: (node: Stored<GameNode>) => boolean,
    what: string,
  ): Promise<Stored<GameNode>> {
    return eventually(
      async () => {
        const found = await fixture.gameNodes.get({ name });
        return isRight(found) ? found : undefined;
      },
      { what },
    );
  }

  const readyReason = ({ status }: GameNode): string | undefined =>
    status?.conditions?.find(({ type }) => type === "Ready")?.reason;

  it("creates a GameNode for a matching node, owned by the node, with slots and addresses", async () => {
    await set();
    const found = await fixture.gameNodes.get({ name });
    expect(found.metadata).to.have.nested.property(
      "ownerReferences[0].uid",
      (await fixture.nodes.get({ name })).metadata.uid,
    );
    expect(found.status).to.deep.include({
      capacity: {
        slots: 2,
        used: 0,
        schedulable: true,
        overhead: { cpuMillicores: 250, memoryBytes: 2 ** 28 },
      },
      addresses: { internal: "192.0.2.1", announced: ["192.0.2.1"] },
    });
    expect(readyReason(found)).to.equal("NodeAndAgentWell");
    expect(found.status?.heartbeat, "the agent's part is left alone").to.include({ agentVersion: "0.1.0" });
  });

  it("counts GPUs if a GPU resource is configured", async () => {
    await set({ GPU_RESOURCE_NAME: "nvidia.com/gpu" });
    await fixture.nodes.mergePatchStatus(
      { name },
      { status: { allocatable: { "nvidia.com/gpu": "4" }, capacity: { "nvidia.com/gpu": "4" } } },
    );
    await gameNode(({ status }) => status?.capacity?.slots === 4, "four slots");
  });

  it("keeps the GameNode current for kstatus, even after its desired content has changed", async () => {
    await set();
    await fixture.createCache("the-question");
    await eventually(async () => (await fixture.gameNodes.get({ name })).spec.desired.length === 1, {
      what: "the cache's version to be asked for",
    });
    await fixture.pass(2000);
    await gameNode(
      (found) => (found.metadata.generation ?? 0) > 1 && kstatusOf(found) === "Current",
      "a node that is current again",
    );
  });

  it("offers sessions the resources that pods of other namespaces leave", async () => {
    await set();
    const offers = async (cpuMillicores: number, gibibytes: number): Promise<void> => {
      await fixture.pass(2000);
      await gameNode(
        ({ status }) =>
          isDeepStrictEqual(status?.capacity?.offered, { cpuMillicores, memoryBytes: gibibytes * 2 ** 30 }),
        `${gibibytes} GiB for sessions`,
      );
    };
    await fixture.setAllocatable(name, { cpu: "4", memory: "8Gi" });
    await offers(4000, 8);
    const { metadata } = await fixture.addOtherPod(name, { cpu: "1500m", memory: "3Gi" });
    await offers(2500, 5);
    await fixture.launch();
    await fixture.pods.delete(metadata, { gracePeriodSeconds: 0 });
    await offers(4000, 8);
  });

  it("offers the whole node if other pods are not counted", async () => {
    await set({ COUNT_OTHER_PODS: "off" });
    await fixture.setAllocatable(name, { cpu: "4", memory: "8Gi" });
    const { metadata } = await fixture.addOtherPod(name, { cpu: "1", memory: "1Gi" });
    await fixture.pass(2000);
    await gameNode(({ status }) => status?.capacity?.offered?.cpuMillicores === 4000, "the whole node");
    await fixture.pods.delete(metadata, { gracePeriodSeconds: 0 });
  });

  it("excludes a node from placement while its agent sends no heartbeat", async () => {
    await set({ HEARTBEAT_STALE_SECONDS: "35" });
    await fixture.pass(36_000);
    expect(
      readyReason(
        await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node"),
      ),
    ).to.equal("AgentSilent");
    await fixture.components.report(name);
    expect(
      readyReason(
        await gameNode(({ status }) => status?.capacity?.schedulable === true, "a schedulable node"),
      ),
    ).to.equal("NodeAndAgentWell");
  });

  it("excludes a node from placement while the kubelet is not ready or the node is cordoned", async () => {
    await set();
    await fixture.setNodeReady(name, false);
    expect(
      readyReason(
        await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node"),
      ),
    ).to.equal("NodeNotReady");
    await fixture.setNodeReady(name, true);
    await gameNode(({ status }) => status?.capacity?.schedulable === true, "a schedulable node");
    await fixture.nodes.mergePatch({ name }, { spec: { unschedulable: true } });
    const cordoned = await gameNode(
      ({ status }) => status?.capacity?.schedulable === false,
      "a cordoned node",
    );
    expect(readyReason(cordoned), "cordoned, but healthy").to.equal("NodeAndAgentWell");
  });

  it("counts sessions with a bounded rate of writes", async () => {
    fixture = await OperatorFixture.start();
    name = fixture.nodeNames[0] ?? "";
    /** The times of all writes of the node's status, by the operator's clock. */
    const writtenMs: number[] = [];
    const transport = new CountedTransport(fixture.kubeconfigPath, ({ path }) => {
      const isStatus = path.includes(`/gamenodes/${name}/status`);
      if (isStatus) writtenMs.push(fixture.clock.monotonicMs());
      return isStatus;
    });
    const responses = () =>
      eventually(() => transport.underWay === 0, {
        what: "an operator that waits for no response",
        intervalMs: 5,
      });
    const pass = async (ms: number): Promise<void> => {
      await responses();
      fixture.clock.jump(ms);
    };
    await (await fixture.standByOperator(transport)).lead();
    await fixture.reportNodes();
    await responses();
    const first = writtenMs.length;
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    await pass(10_000);
    await gameNode(({ status }) => status?.capacity?.used === 1, "one used slot");
    await fixture.sessions.mergePatch(metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "stopped",
      "stopped session",
    );
    await pass(10_000);
    await gameNode(({ status }) => status?.capacity?.used === 0, "no used slot");
    await responses();
    const apart = writtenMs.slice(first).map((ms, index) => ms - (writtenMs[first + index - 1] ?? 0));
    expect(apart, "one write for each count").to.have.length(2);
    for (const ms of apart) expect(ms, "milliseconds after the write before").to.be.at.least(10_000);
  });

  it("keeps sessions off a node while its agent reports a failed check, and names the check", async () => {
    await set();
    const lastTransitionTime = "2030-01-01T10:00:00Z";
    const noexec = {
      type: "RootExecutable",
      status: "False" as const,
      reason: "MountedNoexec",
      message: "/var/lib/joypod is mounted noexec.",
      lastTransitionTime,
    };
    await fixture.components.report(name, {}, [noexec]);
    const refusing = await gameNode(
      ({ status }) => status?.capacity?.schedulable === false,
      "an unschedulable node",
    );
    expect(refusing.status?.capacity?.unschedulable).to.deep.equal({
      reason: "MountedNoexec",
      message: noexec.message,
    });
    expect(readyReason(refusing), "healthy, but unfit").to.equal("NodeAndAgentWell");
    const { metadata } = await fixture.launch();
    const waiting = await fixture.session(
      metadata.name,
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "NoGameNodes") === true,
      "a session without a node",
    );
    expect(waiting.status?.conditions?.find(({ type }) => type === "Scheduled")?.message).to.contain(
      `${name}: MountedNoexec: ${noexec.message}`,
    );
    // A repaired node becomes schedulable again automatically.
    await fixture.components.report(name, {}, [
      { ...noexec, status: "True", reason: "Executable", message: "" },
    ]);
    const healed = await gameNode(
      ({ status }) => status?.capacity?.schedulable === true,
      "a schedulable node",
    );
    expect(healed.status?.capacity).to.not.have.property("unschedulable");
    await fixture.session(metadata.name, ({ status }) => status?.nodeName === name, "the session there");
  });

  it("keeps sessions off a node of another architecture than the games", async () => {
    await set({ GAME_ARCHITECTURE: "amd64" });
    const nodeInfo = {
      architecture: "arm64",
      bootID: "",
      containerRuntimeVersion: "",
      kernelVersion: "",
      kubeProxyVersion: "",
      kubeletVersion: "",
      machineID: "",
      operatingSystem: "linux",
      osImage: "",
      systemUUID: "",
    };
    await fixture.nodes.mergePatchStatus({ name }, { status: { nodeInfo } });
    const { status } = await gameNode(
      (node) => node.status?.capacity?.schedulable === false,
      "an unschedulable node",
    );
    expect(status?.capacity?.unschedulable?.reason).to.equal("OtherArchitecture");
    await fixture.nodes.mergePatchStatus(
      { name },
      { status: { nodeInfo: { ...nodeInfo, architecture: "amd64" } } },
    );
    await gameNode((node) => node.status?.capacity?.schedulable === true, "a schedulable node");
  });

  it("gives sessions only the media ports that other pods do not use", async () => {
    await set({ MEDIA_PORT_FIRST: "21000", MEDIA_PORT_LAST: "21001" });
    const ports = (found: Stored<GameNode>): string | undefined =>
      found.status?.conditions?.find(({ type }) => type === "PortsFree")?.reason;
    const first = await fixture.addOtherPod(name, { cpu: "1m", memory: "1Mi" }, [21_000]);
    await gameNode((found) => ports(found) === "SomeTaken", "a node with a taken port");
    const { metadata } = await fixture.launch();
    expect(
      (await fixture.session(metadata.name, ({ status }) => status?.nodeName === name, "placed session"))
        .status?.ports?.media,
    ).to.equal(21_001);
    const second = await fixture.addOtherPod(name, { cpu: "1m", memory: "1Mi" }, [21_001]);
    expect(
      (await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node"))
        .status?.capacity?.unschedulable?.reason,
    ).to.equal("AllTaken");
    for (const pod of [first, second]) await fixture.pods.delete(pod.metadata, { gracePeriodSeconds: 0 });
    await gameNode(
      (found) => found.status?.capacity?.schedulable === true && ports(found) === "Free",
      "a schedulable node",
    );
  });

  it("reports how players in other networks reach a node with only private addresses", async () => {
    await set();
    const reachable = ({ status }: GameNode) => status?.conditions?.find(({ type }) => type === "Reachable");
    await fixture.nodes.mergePatchStatus(
      { name },
      { status: { addresses: [{ type: "InternalIP", address: "10.1.2.3" }] } },
    );
    const found = await gameNode((node) => reachable(node)?.reason === "PrivateAddress", "a private node");
    expect(reachable(found)).to.include({ status: "Unknown" });
    expect(reachable(found)?.message).to.contain(
      `kubectl annotate node ${name} joypod.dev/announce-address=ADDRESS`,
    );
    expect(found.status?.capacity?.schedulable, "private networks are fine").to.equal(true);
    await fixture.nodes.mergePatch(
      { name },
      { metadata: { annotations: { "joypod.dev/announce-address": "203.0.113.7" } } },
    );
    await gameNode((node) => reachable(node)?.reason === "AddressGiven", "a node with an announced address");
  });

  it("drains a node that lost its label, and removes the GameNode after the last session", async () => {
    await set();
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    await fixture.nodes.mergePatch({ name }, { metadata: { labels: { fixture: "none" } } });
    await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node");
    expect(publicStatusOf(await fixture.sessions.get(metadata))).to.equal("running");
    await fixture.sessions.mergePatch(metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await eventually(async () => (await fixture.gameNodes.find({ name })) === undefined, {
      what: "the GameNode to be gone",
    });
  });

  const agentLabel = async (): Promise<string | undefined> =>
    (await fixture.nodes.get({ name })).metadata.labels?.[nodeAgentLabel];
  const draining = ({ status }: GameNode): string | undefined =>
    status?.conditions?.find(({ type }) => type === "Draining")?.status;

  it("keeps the node agent on a node that lost its label until its last session and save are gone", async () => {
    await set();
    await eventually(async () => (await agentLabel()) === "true", { what: "the agent's label" });
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    fixture.components.behaviour.isRecorderUnavailable = true;
    fixture.components.behaviour.isStoreUnavailable = true;
    await fixture.nodes.mergePatch({ name }, { metadata: { labels: { fixture: null } } });
    await gameNode((node) => draining(node) === "True", "a draining node");
    expect(await agentLabel(), "while a session is played").to.equal("true");

    await fixture.sessions.mergePatch(metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await fixture.session(
      metadata.name,
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "StoreUnreachable") ?? false,
      "unstored save",
    );
    await fixture.pass(50_000);
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "stopped",
      "stopped session",
    );
    await eventually(async () => (await fixture.pods.find(metadata)) === undefined, {
      what: "the pod to be gone",
    });
    await fixture.pass(10_000);
    await gameNode(
      (node) => node.status?.capacity?.used === 0 && draining(node) === "True",
      "a node with a save alone",
    );
    expect(await agentLabel(), "while a save is to be stored").to.equal("true");

    fixture.components.behaviour.isStoreUnavailable = false;
    await fixture.sessions.mergePatch(metadata, { metadata: { annotations: { seen: "true" } } });
    await eventually(async () => (await fixture.gameNodes.find({ name })) === undefined, {
      what: "the GameNode to be gone",
    });
    await eventually(async () => (await agentLabel()) === undefined, {
      what: "the agent's label to be gone",
    });
  });

  it("checks the node's sessions with the API server before it removes the agent's label", async () => {
    await set();
    await eventually(async () => (await agentLabel()) === "true", { what: "the agent's label" });
    const api = await FaultyApi.start(await sharedKubeApiServer());
    api.silenceOnce(watchOf("gamesessions"));
    const stale = await fixture.standByOperator(api.transport());
    try {
      fixture.components.behaviour.nodesWithoutContent.add(name);
      const { metadata } = await fixture.launch({ startDeadlineSeconds: 600 });
      await fixture.session(metadata.name, ({ status }) => status?.nodeName === name, "placed session");
      await fixture.stopOperator(former);
      await fixture.nodes.mergePatch({ name }, { metadata: { labels: { fixture: null } } });
      await stale.lead();
      await gameNode((node) => draining(node) === "True", "a draining node");
      expect(await agentLabel()).to.equal("true");
    } finally {
      await fixture.stopOperator(stale);
      await api.stop();
    }
  });

  it("checks the node with the API server before it removes the GameNode", async () => {
    fixture = await OperatorFixture.start({ nodes: 0 });
    former = (await fixture.startOperator()).operator;
    const api = await FaultyApi.start(await sharedKubeApiServer());
    api.silenceOnce(watchOf("nodes"));
    const stale = await fixture.standByOperator(api.transport());
    try {
      name = `${fixture.namespace}-n1`;
      await fixture.addNode(name);
      await fixture.reportNodes();
      const {
        metadata: { uid },
      } = await fixture.gameNodes.get({ name });
      const { metadata } = await fixture.launch();
      await fixture.session(
        metadata.name,
        (session) => publicStatusOf(session) === "running",
        "running session",
      );
      await fixture.stopOperator(former);
      await stale.lead();
      // Placing it requires the node, so the operator has finished that step.
      const later = await fixture.launch({ userId: "user2" });
      await fixture.session(
        later.metadata.name,
        ({ status }) => status?.nodeName === name,
        "session that the new leader has placed",
      );
      expect((await fixture.gameNodes.get({ name })).metadata)
        .to.include({ uid })
        .and.not.have.property("deletionTimestamp");
      expect(publicStatusOf(await fixture.sessions.get(metadata))).to.equal("running");
    } finally {
      await fixture.stopOperator(stale);
      await api.stop();
    }
  });

  it("removes the agent's label from a node that is not a game node", async () => {
    await set();
    const other = `${name}-other`;
    await fixture.nodes.create({ metadata: { name: other, labels: { [nodeAgentLabel]: "true" } } });
    try {
      await eventually(
        async () =>
          (await fixture.nodes.get({ name: other })).metadata.labels?.[nodeAgentLabel] === undefined,
        { what: "the agent's label to be gone" },
      );
    } finally {
      await fixture.nodes.delete({ name: other });
    }
  });

  it("removes a GameNode with its node", async () => {
    await set();
    await fixture.nodes.delete({ name });
    await eventually(async () => (await fixture.gameNodes.find({ name })) === undefined, {
      what: "the GameNode to be gone",
    });
  });
});
