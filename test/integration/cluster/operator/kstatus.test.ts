import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import { kstatusOf } from "#test/support/cluster/kstatus.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("A GameSession in tools that wait for objects", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;

  afterEach(() => fixture.clear());

  it("is in progress for kstatus while it starts and stops, and current while it runs, after a keepalive and when it has finished", async () => {
    fixture = await OperatorFixture.start();
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutContent.add(node);
    const { transport } = await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    const starting = await fixture.session(name, ({ status }) => status?.nodeName === node, "placed session");
    expect(kstatusOf(starting)).to.equal("InProgress");
    fixture.components.behaviour.nodesWithoutContent.delete(node);
    await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    expect(kstatusOf(await fixture.session(name, isRunning, "running session"))).to.equal("Current");

    await fixture.responses();
    const writesBefore = transport.writes.length;
    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { expiresAt: new Date(Date.now() + 7_200_000).toISOString() } },
    );
    const kept = await fixture.session(
      name,
      ({ metadata, status }) => metadata.generation === 2 && status?.observedGeneration === 2,
      "session that saw its keepalive",
    );
    expect(kstatusOf(kept)).to.equal("Current");
    expect(
      kept.status?.conditions?.find(({ type }) => type === "Ready"),
      "what kubectl wait looks at",
    ).to.include({ status: "True", observedGeneration: 2 });
    await fixture.responses();
    expect(transport.writes.length - writesBefore).to.equal(1);

    fixture.components.behaviour.isRecorderUnavailable = true;
    const stopping = await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    expect(kstatusOf(stopping)).to.equal("InProgress");
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(kstatusOf(finished)).to.equal("Current");
    expect(finished.status?.conditions?.map(({ type }) => type))
      .to.include("PodReady")
      .and.not.include("Ready");
    await fixture.sessions.delete({ name, namespace });
    expect(kstatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("Terminating");
  });
});
