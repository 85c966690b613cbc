import { expect } from "chai";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import type { Stored } from "#kube/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorStage } from "#test/support/fixtures/operatorFixture.ts";

describe("GameNode controller", function () {
  this.timeout(60_000);
  let stage: OperatorStage;
  let name: string;

  async function set(environment: Record<string, string> = {}): Promise<void> {
    stage = await OperatorStage.set({ environment });
    name = stage.nodeNames[0] ?? "";
    await stage.startOperator();
  }

  afterEach(() => stage.clear());

  async function gameNode(isRight: (node: Stored<GameNode>) => boolean, what: string): Promise<Stored<GameNode>> {
    return eventually(async () => {
      const found = await stage.gameNodes.get({ name });
      return isRight(found) ? found : undefined;
    }, { what });
  }

  const readyReason = ({ status }: GameNode): string | undefined => status?.conditions?.find(({ type }) => type === "Ready")?.reason;

  it("creates a GameNode for a node that matches, owned by the node, with slots and addresses", async () => {
    await set();
    const found = await stage.gameNodes.get({ name });
    expect(found.metadata).to.have.nested.property("ownerReferences[0].uid", (await stage.nodes.get({ name })).metadata.uid);
    expect(found.status).to.deep.include({ capacity: { slots: 2, used: 0, schedulable: true }, addresses: { internal: "192.0.2.1" } });
    expect(readyReason(found)).to.equal("NodeAndAgentWell");
    expect(found.status?.heartbeat, "the agent's part is left alone").to.include({ agentVersion: "0.1.0" });
  });

  it("counts GPUs where there is a GPU resource", async () => {
    await set({ GPU_RESOURCE_NAME: "nvidia.com/gpu" });
    await stage.nodes.mergePatchStatus({ name }, { status: { allocatable: { "nvidia.com/gpu": "4" }, capacity: { "nvidia.com/gpu": "4" } } });
    await gameNode(({ status }) => status?.capacity?.slots === 4, "four slots");
  });

  it("makes a node unschedulable when its agent falls silent, and schedulable when it reports again", async () => {
    await set({ HEARTBEAT_STALE_SECONDS: "35" });
    stage.clock.jump(36_000);
    expect(readyReason(await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node"))).to.equal("AgentSilent");
    await stage.parts.report(name);
    expect(readyReason(await gameNode(({ status }) => status?.capacity?.schedulable === true, "a schedulable node"))).to.equal("NodeAndAgentWell");
  });

  it("makes a node unschedulable when its kubelet is not ready or it is cordoned", async () => {
    await set();
    await stage.setNodeReady(name, false);
    expect(readyReason(await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node"))).to.equal("NodeNotReady");
    await stage.setNodeReady(name, true);
    await gameNode(({ status }) => status?.capacity?.schedulable === true, "a schedulable node");
    await stage.nodes.mergePatch({ name }, { spec: { unschedulable: true } });
    const cordoned = await gameNode(({ status }) => status?.capacity?.schedulable === false, "a cordoned node");
    expect(readyReason(cordoned), "cordoned, but well").to.equal("NodeAndAgentWell");
  });

  it("counts sessions, spacing its writes", async () => {
    await set();
    const { metadata } = await stage.launch();
    await stage.session(metadata.name, (session) => publicStatusOf(session) === "running", "running session");
    stage.clock.jump(2000);
    await gameNode(({ status }) => status?.capacity?.used === 1, "one used slot");
    await stage.sessions.mergePatch(metadata, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    await stage.session(metadata.name, (session) => publicStatusOf(session) === "stopped", "stopped session");
    stage.clock.jump(2000);
    await gameNode(({ status }) => status?.capacity?.used === 0, "no used slot");
  });

  it("drains a node that lost its label, and removes it when the last session is over", async () => {
    await set();
    const { metadata } = await stage.launch();
    await stage.session(metadata.name, (session) => publicStatusOf(session) === "running", "running session");
    await stage.nodes.mergePatch({ name }, { metadata: { labels: { stage: "none" } } });
    await gameNode(({ status }) => status?.capacity?.schedulable === false, "an unschedulable node");
    expect(publicStatusOf(await stage.sessions.get(metadata))).to.equal("running");
    await stage.sessions.mergePatch(metadata, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    await eventually(async () => await stage.gameNodes.find({ name }) === undefined, { what: "the GameNode to be gone" });
  });

  it("removes the GameNode with its node", async () => {
    await set();
    await stage.nodes.delete({ name });
    await eventually(async () => await stage.gameNodes.find({ name }) === undefined, { what: "the GameNode to be gone" });
  });
});
