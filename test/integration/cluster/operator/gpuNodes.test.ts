import { expect } from "chai";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const resource = "gpu.example.com/fake";
const forBoth = { GPU_RESOURCE_NAME: resource, GPU_STREAMER_COUNT: "1" };
const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("GPUs of game nodes", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;

  afterEach(() => fixture.clear());

  async function set(environment: Record<string, string>, nodes = 1): Promise<void> {
    fixture = await OperatorFixture.start({ nodes, environment });
    await fixture.startOperator();
  }

  /** Reports devices as the node's device plugin would to the kubelet. */
  async function offer(number: number, count: number): Promise<void> {
    const devices = { [resource]: String(count) };
    await fixture.nodes.mergePatchStatus(
      { name: nodeName(number) },
      { status: { allocatable: devices, capacity: devices } },
    );
  }

  function nodeName(number: number): string {
    return fixture.nodeNames[number] ?? "";
  }

  function gameNode(
    number: number,
    isRight: (node: GameNode) => boolean,
    what: string,
  ): Promise<Stored<GameNode>> {
    return eventually(
      async () => {
        const found = await fixture.gameNodes.get({ name: nodeName(number) });
        return isRight(found) ? found : undefined;
      },
      { what },
    );
  }

  const slots =
    (count: number) =>
    ({ status }: GameNode): boolean =>
      status?.capacity?.slots === count;
  const notShared =
    (reason: string) =>
    ({ status }: GameNode): boolean =>
      status?.conditions?.some(
        (condition) => condition.type === "GpuNotShared" && condition.reason === reason,
      ) ?? false;
  const isRefused = ({ status }: GameSession): boolean =>
    status?.conditions?.some(({ type, reason }) => type === "Scheduled" && reason === "NoCapacity") ?? false;

  async function run(): Promise<Stored<GameSession>> {
    const { metadata } = await fixture.launch();
    return fixture.session(metadata.name, isRunning, "running session");
  }

  it("provide slots for as many sessions as both containers find devices for, and report missing devices", async () => {
    await set(forBoth);
    await gameNode(0, notShared("NoDevices"), "a node without devices");
    await offer(0, 1);
    const scarce = await gameNode(0, notShared("TooFewDevices"), "a node with one device");
    expect(scarce.status?.capacity?.slots).to.equal(0);
    expect(scarce.status?.conditions?.find(({ type }) => type === "GpuNotShared")?.message)
      .to.contain("gpu.streamer.count")
      .and.contain("gpu.runtimeClassName");
    await offer(0, 5);
    expect(
      (await gameNode(0, notShared("Shared"), "a node with shared devices")).status?.capacity?.slots,
    ).to.equal(2);
  });

  it("keep a node with one device playable by default, and name the values for the other container", async () => {
    await set({ GPU_RESOURCE_NAME: resource });
    await offer(0, 1);
    const found = await gameNode(0, notShared("OneContainer"), "a device for one container");
    expect(found.status?.capacity).to.include({ slots: 1, schedulable: true });
    expect(found.status?.conditions?.find(({ type }) => type === "GpuNotShared")?.message).to.contain(
      "gpu.runtimeClassName",
    );
    const { metadata } = await run();
    const { spec } = await fixture.pods.get(metadata);
    expect(spec?.containers[0]?.resources?.limits).to.include({ [resource]: "1" });
    expect(spec?.initContainers?.[0]?.resources?.limits).to.not.have.property(resource);
  });

  it("are assigned to both containers, for at most as many sessions as the node has slots", async () => {
    await set(forBoth, 2);
    await offer(0, 2);
    await offer(1, 4);
    await gameNode(0, slots(1), "one slot");
    await gameNode(1, slots(2), "two slots");
    const sessions = [await run(), await run(), await run()];
    expect(sessions.map(({ status }) => status?.nodeName).sort()).to.deep.equal([
      nodeName(0),
      nodeName(1),
      nodeName(1),
    ]);
    expect(sessions.map(({ status }) => status?.placement?.attempt)).to.deep.equal([1, 1, 1]);
    for (const { metadata } of sessions) {
      const { spec } = await fixture.pods.get(metadata);
      for (const container of [spec?.containers[0], spec?.initContainers?.[0]])
        expect(container?.resources?.limits, container?.name).to.include({ [resource]: "1" });
    }
    const { metadata } = await fixture.launch();
    const refused = await fixture.session(metadata.name, isRefused, "session without a place");
    expect(refused.status?.nodeName).to.equal(undefined);
  });

  it("are claimed once for both containers, by as many sessions as configured", async () => {
    await set({ GPU_RESOURCE_NAME: resource, GPU_CLAIM_TEMPLATE: "one-gpu", GPU_SLOTS_PER_NODE: "1" });
    await gameNode(0, slots(1), "one slot");
    const { metadata } = await run();
    const { spec } = await fixture.pods.get(metadata);
    expect(spec?.resourceClaims).to.deep.equal([{ name: "gpu", resourceClaimTemplateName: "one-gpu" }]);
    for (const container of [spec?.containers[0], spec?.initContainers?.[0]]) {
      expect(container?.resources?.claims, container?.name).to.deep.equal([{ name: "gpu" }]);
      expect(container?.resources?.limits, container?.name).to.not.have.property(resource);
    }
    const next = await fixture.launch();
    await fixture.session(next.metadata.name, isRefused, "session without a place");
  });

  it("may keep other pods away by taints", async () => {
    await set({
      ...forBoth,
      GPU_TOLERATIONS: JSON.stringify([{ key: "games.example", operator: "Exists" }]),
    });
    await offer(0, 2);
    const taint = (...keys: string[]) =>
      fixture.nodes.mergePatch(
        { name: nodeName(0) },
        { spec: { taints: keys.map((key) => ({ key, value: "yes", effect: "NoSchedule" })) } },
      );
    await taint(resource, "nvidia.com/gpu", "games.example");
    const { metadata, status } = await run();
    expect(status?.nodeName).to.equal(nodeName(0));
    const { spec } = await fixture.pods.get(metadata);
    for (const key of [resource, "nvidia.com/gpu", "games.example"])
      expect(spec?.tolerations?.map((toleration) => toleration.key)).to.include(key);
    await taint(resource, "other.example");
    await gameNode(
      0,
      (node) => node.status?.capacity?.schedulable === false,
      "a node with a taint of others",
    );
  });
});
