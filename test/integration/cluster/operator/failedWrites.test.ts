import { expect } from "chai";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { beforeEachWithFaultyApi } from "#test/support/fixtures/faultyOperatorFixture.ts";
import type { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

describe("Operator with failing writes", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let api: FaultyApi;

  beforeEachWithFaultyApi((freshFixture, freshApi) => {
    fixture = freshFixture;
    api = freshApi;
  });

  it("records the event of a status whose write succeeded but whose response was lost", async () => {
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
    let isLost = false;
    api.loseResponseOnce(
      ({ method, path }) =>
        (isLost ||= method === "PATCH" && path.includes("/gamesessions/") && path.endsWith("/status")),
    );
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.nodeName !== undefined, "placed session");
    await eventually(async () => (await fixture.eventsOf(name)).includes("PodCreated"), {
      timeoutMs: 20_000,
      what: "a later event",
    });
    expect(isLost).to.equal(true);
    expect(await fixture.eventsOf(name)).to.include("Scheduled");
  });

  it("does not restart waits: a session past its start deadline ends with the next successful write", async () => {
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
    const [node = ""] = fixture.nodeNames;
    await fixture.setAllocatable(node, { cpu: "4", memory: "512Mi" });
    await eventually(
      async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.offered !== undefined,
      { what: "the node's memory to be known" },
    );
    const {
      metadata: { name },
    } = await fixture.launch({ startDeadlineSeconds: 120 });
    await fixture.session(
      name,
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "InsufficientResources") ?? false,
      "waiting session",
    );
    let isRefused = false;
    api.respondOnce(
      ({ method, path }) =>
        (isRefused ||= method === "PATCH" && path.endsWith(`/gamesessions/${name}/status`)),
      409,
      { reason: "Conflict" },
    );
    await fixture.pass(121_000);
    const { status } = await fixture.session(name, isFinished, "finished session");
    expect(isRefused).to.equal(true);
    expect(status?.failure?.reason).to.equal("InsufficientResources");
  });
});
