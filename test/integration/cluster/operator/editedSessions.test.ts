import { expect } from "chai";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession, GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { containerStatus } from "#test/factories/sessionPod.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("GameSession controller with edited statuses and missing images", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  afterEach(() => fixture.clear());

  const edits: [string, (session: GameSession, other: string) => GameSessionStatus | null][] = [
    ["is emptied", () => null],
    ["names another node", ({ status }, other) => ({ ...status, nodeName: other })],
  ];
  for (const [what, edited] of edits) {
    it(`keeps the pod, and stores its save at the end, if the status of a running session ${what}`, async () => {
      fixture = await OperatorFixture.start({ nodes: 2 });
      await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch();
      const before = await fixture.session(name, isRunning, "running session");
      const other = fixture.nodeNames.find((node) => node !== before.status?.nodeName) ?? "";
      await fixture.sessions.mergePatchStatus({ name, namespace }, { status: edited(before, other) });
      const healed = await fixture.session(
        name,
        (session) => isRunning(session) && session.status?.nodeName === before.status?.nodeName,
        "session that runs where it did",
      );
      expect(healed.status).to.deep.include({ ports: before.status?.ports, podRef: before.status?.podRef });
      expect(fixture.components.podUids.get(name)?.size, "pods").to.equal(1);
      await eventually(async () => (await fixture.eventsOf(name)).includes("PodAdopted"), {
        what: "the event PodAdopted",
      });

      await fixture.sessions.mergePatch(
        { name, namespace },
        { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
      );
      const finished = await fixture.session(name, isFinished, "finished session");
      expect(finished.status?.save?.final).to.equal(true);
      expect(finished.status).to.not.have.property("failure");
    });
  }

  it("stores the save of a session whose status is emptied while it ends", async () => {
    fixture = await OperatorFixture.start();
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    const { status } = await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.nodesWithoutKubelet.add(status?.nodeName ?? "");
    fixture.components.behaviour.nodesWithoutAgent.add(status?.nodeName ?? "");
    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await eventually(
      async () => (await fixture.pods.get({ name, namespace })).metadata.deletionTimestamp !== undefined,
      { what: "the pod to be deleted" },
    );
    await fixture.sessions.mergePatchStatus({ name, namespace }, { status: null });
    await fixture.session(
      name,
      (session) => session.status?.podRef !== undefined,
      "session that knows of its pod",
    );
    expect(isFinished(await fixture.sessions.get({ name, namespace })), "finished without its save").to.equal(
      false,
    );
    fixture.components.behaviour.nodesWithoutKubelet.clear();
    fixture.components.behaviour.nodesWithoutAgent.clear();
    await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status?.save?.final).to.equal(true);
  });

  it("moves a session to another node if the first cannot pull an image", async () => {
    fixture = await OperatorFixture.start({ nodes: 2 });
    await fixture.startOperator();
    const silent = fixture.components.behaviour.nodesWithoutKubelet;
    for (const node of fixture.nodeNames) silent.add(node);
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    const first = await eventually(async () => fixture.pods.find({ name, namespace }), {
      what: "the first pod",
    });
    const { status: { nodeName = "" } = {} } = await fixture.sessions.get({ name, namespace });
    const waiting = containerStatus("streamer", {
      waiting: { reason: "ImagePullBackOff", message: "not found" },
    });
    await fixture.pods.mergePatchStatus(
      { name, namespace },
      { status: { phase: "Pending", initContainerStatuses: [waiting] } },
    );
    await fixture.session(
      name,
      ({ status }) => status?.nodeName !== undefined && status.nodeName !== nodeName,
      "session on the other node",
    );
    silent.clear();
    await fixture.pods
      .mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } })
      .catch(() => undefined);
    const running = await fixture.session(name, isRunning, "running session");
    expect(running.status?.placement).to.deep.include({ attempt: 2, triedNodes: [nodeName] });
    expect(running.status?.podRef?.uid).to.not.equal(first.metadata.uid);
  });

  it("waits for the image if there is no other node", async () => {
    fixture = await OperatorFixture.start();
    await fixture.startOperator();
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutKubelet.add(node);
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await eventually(async () => fixture.pods.find({ name, namespace }), { what: "the pod" });
    const waiting = containerStatus("streamer", {
      waiting: { reason: "ImagePullBackOff", message: "not found" },
    });
    await fixture.pods.mergePatchStatus(
      { name, namespace },
      { status: { phase: "Pending", initContainerStatuses: [waiting] } },
    );
    const {
      metadata: { name: other },
    } = await fixture.launch({ userId: "user2" });
    await eventually(async () => fixture.pods.find({ name: other, namespace }), {
      what: "a pod that is made later",
    });
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("starting");
    fixture.components.behaviour.nodesWithoutKubelet.delete(node);
    await fixture.pods.mergePatchStatus({ name, namespace }, { status: { initContainerStatuses: [] } });
    await fixture.session(name, isRunning, "running session");
  });
});
