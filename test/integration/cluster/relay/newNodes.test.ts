import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { TestNetwork } from "#test/support/network/namespaces.ts";
import { TurnClient } from "#test/support/network/turnClient.ts";
import { relayPorts, TurnRelay } from "#test/support/network/turnRelay.ts";

/** Within this time a new game node is to be reached, by the operator's clock. */
const newNodeSeconds = 60;
const newAddress = "192.0.2.77";

describe("the relay and a game node that is new", function () {
  this.timeout(60_000);
  let network: TestNetwork;
  let relay: TurnRelay;
  let fixture: OperatorFixture;
  let client: TurnClient;
  /** Of what was made before a failure, too: nodes are the whole cluster's. */
  const made = new AsyncDisposableStack();

  before(async () => {
    network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    relay = made.adopt(await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009" }), (started) =>
      started.stop(),
    );
    fixture = made.adopt(
      await OperatorFixture.start({
        environment: { RELAY_CONTROL: `${relay.address}:${relayPorts.control}`, TURN_SECRET: relay.secret },
      }),
      (started) => started.clear(),
    );
    await fixture.startOperator();
    client = made.adopt(
      await TurnClient.open({ address: relay.address, port: relayPorts.plain }, relay.login()),
      (opened) => opened.close(),
    );
    await client.allocate();
  });
  after(() => made.disposeAsync());

  it("let players reach it within a minute, and no longer once it is gone", async () => {
    await eventually(() => relay.isReady(), { what: "the first list" });
    expect(await client.permit(newAddress)).to.equal(403);
    const name = `${fixture.namespace}-new`;
    await fixture.addNode(name);
    await fixture.nodes.mergePatchStatus(
      { name },
      { status: { addresses: [{ type: "InternalIP", address: newAddress }] } },
    );
    await eventually(() => fixture.gameNodes.find({ name }), { what: "the new GameNode" });
    await fixture.pass(newNodeSeconds * 1000);
    await eventually(async () => (await client.permit(newAddress)) === "permitted", {
      what: "a way to the new node",
    });

    await fixture.nodes.mergePatch({ name }, { metadata: { labels: { fixture: "none" } } });
    await eventually(async () => (await fixture.gameNodes.find({ name })) === undefined, {
      what: "the end of the GameNode",
    });
    await fixture.pass(newNodeSeconds * 1000);
    await eventually(async () => (await client.permit(newAddress)) === 403, {
      what: "no way to the former node",
    });
  });
});
