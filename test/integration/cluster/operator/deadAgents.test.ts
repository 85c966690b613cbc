import { expect } from "chai";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Stored } from "#kube/api/object.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("A session on a node with its files and a dead agent", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let node: string;

  afterEach(() => fixture.clear());

  /**
   * Returns the session once its pod waits for the save and its agent counts as silent, which happens before
   * the download deadline.
   */
  async function launch(nodes: number): Promise<Stored<GameSession>> {
    fixture = await OperatorFixture.start({ nodes, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const { behaviour } = fixture.components;
    node = fixture.nodeNames[0] ?? "";
    behaviour.cached.push(aCacheEntry());
    behaviour.nodesWithoutAgent.add(node);
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch({ startDeadlineSeconds: 600 });
    const session = await fixture.session(
      name,
      ({ status }) => status?.nodeName === node && status.podIp !== undefined,
      "address of the pod",
    );
    await fixture.pass(36_000);
    for (const each of fixture.nodeNames) await schedulable(each, false);
    return session;
  }

  async function schedulable(name: string, isSchedulable: boolean): Promise<void> {
    await eventually(
      async () => (await fixture.gameNodes.get({ name })).status?.capacity?.schedulable === isSchedulable,
      { what: `${isSchedulable ? "a schedulable" : "an unschedulable"} node` },
    );
  }

  it("moves to another node if it is not prepared in time", async () => {
    const {
      metadata: { name },
    } = await launch(2);
    const other = fixture.nodeNames[1] ?? "";
    await fixture.components.report(other);
    await schedulable(other, true);
    await fixture.pass(25_000);
    const moved = await fixture.session(name, isRunning, "running session");
    expect(moved.status).to.include({ nodeName: other });
    expect(moved.status?.placement).to.deep.include({ attempt: 2, triedNodes: [node] });
  });

  it("waits for the agent's return if there is no other node", async () => {
    const {
      metadata: { name, namespace },
    } = await launch(1);
    await fixture.pass(25_000);
    // A session of a silent node is reconciled every five seconds.
    await fixture.pass(6_000);
    await fixture.responses();
    fixture.components.behaviour.nodesWithoutAgent.clear();
    await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    const { status } = await fixture.session(name, isRunning, "running session");
    expect(status?.placement).to.deep.include({ attempt: 1, triedNodes: [] });
    expect(fixture.components.podUids.get(name)?.size, "pods").to.equal(1);
  });
});
