import { expect } from "chai";
import { installationLabel, sessionsNamespaceAnnotation } from "#contracts/crd/installation.ts";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { events } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("Several installations in one cluster", function () {
  this.timeout(90_000);
  const fixtures: OperatorFixture[] = [];

  async function install(
    environment: Record<string, string> = {},
  ): Promise<{ fixture: OperatorFixture; node: string }> {
    const fixture = await OperatorFixture.start({ environment });
    fixtures.push(fixture);
    return { fixture, node: fixture.nodeNames[0] ?? "" };
  }

  afterEach(async () => {
    for (const fixture of fixtures.splice(0)) await fixture.clear();
  });

  it("leave each other's game nodes alone, even if both select one, and both run sessions", async () => {
    const { fixture, node } = await install();
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    const before = await fixture.gameNodes.get({ name: node });

    const { fixture: staging, node: stagingNode } = await install({
      INSTALLATION: "staging",
      GAME_NODE_SELECTOR: `fleet=${fixture.namespace}`,
    });
    for (const each of [node, stagingNode])
      await fixture.nodes.mergePatch({ name: each }, { metadata: { labels: { fleet: fixture.namespace } } });
    await staging.startOperator();
    const {
      metadata: { name: stagingName },
    } = await staging.launch();
    const staged = await staging.session(stagingName, isRunning, "running session of the other installation");
    expect(staged.status?.nodeName, "the one that is its own").to.equal(stagingNode);
    expect((await staging.gameNodes.get({ name: stagingNode })).metadata.labels).to.deep.equal({
      [installationLabel]: "staging",
    });
    expect((await staging.nodes.get({ name: stagingNode })).metadata.labels?.[nodeAgentLabel]).to.equal(
      "staging",
    );

    const taken = await eventually(
      async () => {
        const { items } = await new ResourceClient((await sharedKubeApiServer()).admin, events).listAll({
          namespace: "default",
        });
        return items.find(({ regarding, reason }) => regarding?.name === node && reason === "NodeTaken");
      },
      { what: "an event that says whose the node is" },
    );
    expect(taken.note).to.contain("belongs to the unnamed installation").and.to.contain("gameNodes.selector");
    const after = await fixture.gameNodes.get({ name: node });
    expect(after.metadata).to.include({ uid: before.metadata.uid }).and.to.not.have.property("labels");
    expect((await fixture.nodes.get({ name: node })).metadata.labels?.[nodeAgentLabel]).to.equal("true");
    expect(isRunning(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal(true);

    // A successor reconciles all nodes again.
    await fixture.stopOperators();
    await fixture.startOperator();
    await fixture.pass(600_000);
    await fixture.launch();
    expect((await staging.gameNodes.get({ name: stagingNode })).metadata.deletionTimestamp).to.equal(
      undefined,
    );
    expect(
      isRunning(await staging.sessions.get({ name: stagingName, namespace: staging.namespace })),
    ).to.equal(true);
  });

  it("hand over a node when its owner no longer selects it", async () => {
    const { fixture, node } = await install();
    await fixture.startOperator();
    const { fixture: staging } = await install({
      INSTALLATION: "staging",
      GAME_NODE_SELECTOR: `fleet=${fixture.namespace}`,
    });
    await staging.nodes.mergePatch(
      { name: staging.nodeNames[0] ?? "" },
      { metadata: { labels: { fleet: fixture.namespace } } },
    );
    await staging.startOperator();
    await fixture.nodes.mergePatch(
      { name: node },
      { metadata: { labels: { fleet: fixture.namespace, fixture: null } } },
    );
    await eventually(
      async () => {
        await staging.pass(60_000);
        return (
          (await staging.gameNodes.find({ name: node }))?.metadata.labels?.[installationLabel] === "staging"
        );
      },
      { what: "the other installation to have the node", timeoutMs: 20_000 },
    );
    await eventually(
      async () => (await staging.nodes.get({ name: node })).metadata.labels?.[nodeAgentLabel] === "staging",
      { what: "its agents' label" },
    );
  });

  it("release their nodes after their removal, once an admin has cleaned up", async () => {
    const { fixture, node } = await install();
    await fixture.startOperator();
    await eventually(
      async () => (await fixture.nodes.get({ name: node })).metadata.labels?.[nodeAgentLabel] === "true",
      { what: "the agents' label" },
    );
    await fixture.stopOperators();
    const { fixture: staging } = await install({
      INSTALLATION: "staging",
      GAME_NODE_SELECTOR: `fleet=${fixture.namespace}`,
    });
    for (const name of [node, staging.nodeNames[0] ?? ""])
      await staging.nodes.mergePatch({ name }, { metadata: { labels: { fleet: fixture.namespace } } });
    await staging.startOperator();
    const taken = await eventually(
      async () => {
        const { items } = await new ResourceClient((await sharedKubeApiServer()).admin, events).listAll({
          namespace: "default",
        });
        return items.find(({ regarding, reason }) => regarding?.name === node && reason === "NodeTaken");
      },
      { what: "an event that says whose the node is" },
    );
    expect(taken.note).to.contain(
      "kubectl delete gamenodes -l '!joypod.dev/installation'; kubectl label nodes -l joypod.dev/node-agent=true joypod.dev/node-agent-",
    );
    // These are the documented commands, limited to this node.
    await staging.gameNodes.delete({ name: node });
    await staging.nodes.mergePatch({ name: node }, { metadata: { labels: { [nodeAgentLabel]: null } } });
    await eventually(
      async () => {
        await staging.pass(60_000);
        return (
          (await staging.gameNodes.find({ name: node }))?.metadata.labels?.[installationLabel] === "staging"
        );
      },
      { what: "the other installation to have the node", timeoutMs: 20_000 },
    );
    await eventually(
      async () => (await staging.nodes.get({ name: node })).metadata.labels?.[nodeAgentLabel] === "staging",
      { what: "its agents' label" },
    );
  });

  it("are refused with an explanation before anything is written if they have the same name", async () => {
    const { fixture, node } = await install();
    await fixture.startOperator();
    const before = await fixture.gameNodes.get({ name: node });
    const { fixture: second, node: secondNode } = await install();
    const error = await second.startOperator().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error)
      .to.be.an("error")
      .with.property("message")
      .that.contains(`with sessions in namespace ${fixture.namespace};`)
      .and.contains("chart value installation");
    expect(await second.gameNodes.find({ name: secondNode })).to.equal(undefined);
    expect((await fixture.gameNodes.get({ name: node })).metadata.uid).to.equal(before.metadata.uid);
  });

  it("keep the game nodes and sessions of a release without installation names", async () => {
    const { fixture, node } = await install();
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    await fixture.stopOperators();
    const former = await fixture.gameNodes.mergePatch(
      { name: node },
      { metadata: { annotations: { [sessionsNamespaceAnnotation]: null } } },
    );
    await fixture.startOperator();
    const adopted = await eventually(
      async () => {
        const found = await fixture.gameNodes.get({ name: node });
        return found.metadata.annotations?.[sessionsNamespaceAnnotation] === fixture.namespace
          ? found
          : undefined;
      },
      { what: "the GameNode to say whose it is" },
    );
    expect(adopted.metadata).to.include({ uid: former.metadata.uid }).and.to.not.have.property("labels");
    expect(isRunning(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal(true);
  });
});
