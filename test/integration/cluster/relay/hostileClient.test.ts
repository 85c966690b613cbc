import { expect } from "chai";
import { randomBytes, X509Certificate } from "node:crypto";
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { tellRelays } from "#operator/relay/tellRelays.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { CertificateAuthority, type KeyPair } from "#test/support/http/certificates.ts";
import { expectDocumented } from "#test/support/metrics/metricsDocument.ts";
import { TestNetwork } from "#test/support/network/namespaces.ts";
import { TurnClient } from "#test/support/network/turnClient.ts";
import { relayPorts, TurnRelay } from "#test/support/network/turnRelay.ts";

const [forbidden, unauthorized, connectionFailed, quotaReached, insufficientCapacity] = [
  403, 401, 447, 486, 508,
];
const firstPort = 20_000;
const lastPort = 20_009;

/** What listens where a game node would. */
interface Listener {
  received: string[];
  socket: Socket;
  /** Where the last packet came from. */ last?: RemoteInfo;
}

async function listenOn(port: number, address: string): Promise<Listener> {
  const socket = createSocket("udp4").bind(port, address);
  await once(socket, "listening");
  const listener: Listener = { received: [], socket };
  socket.on("message", (message, from) => {
    listener.received.push(message.toString());
    listener.last = from;
    socket.send(`re: ${message.toString()}`, from.port, from.address);
  });
  return listener;
}

describe("the relay and a hostile client with valid credentials", function () {
  this.timeout(60_000);
  let network: TestNetwork;
  let relay: TurnRelay;
  let node: string;
  let media: Listener;
  let other: Listener;
  let client: TurnClient;
  const clients: TurnClient[] = [];
  const made = new AsyncDisposableStack();

  const connect = async (login = relay.login()): Promise<TurnClient> => {
    const opened = await TurnClient.open({ address: relay.address, port: relayPorts.plain }, login);
    clients.push(opened);
    return opened;
  };

  before(async () => {
    network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: `${firstPort}-${lastPort}` }),
      (started) => started.stop(),
    );
    node = network.own.ipv4; // The test process listens there, in place of a game node.
    media = made.adopt(await listenOn(firstPort, node), ({ socket }) => void socket.close());
    other = made.adopt(await listenOn(lastPort + 1, node), ({ socket }) => void socket.close());
  });
  after(() => made.disposeAsync());
  beforeEach(async () => {
    expect(await relay.tell([node])).to.equal(204);
    client = await connect();
    expect(await client.allocate()).to.equal("allocated");
  });
  afterEach(() => Promise.all(clients.splice(0).map((opened) => opened.close())));

  /**
   * Sends to the game node's media port, by which a test knows that what was sent before has arrived or never
   * will.
   */
  const afterwards = async (): Promise<void> => {
    expect(await client.permit(node)).to.equal("permitted");
    const mark = `mark ${Math.random()}`;
    client.send(node, firstPort, mark);
    await eventually(() => media.received.includes(mark), { what: "the packet to the media port" });
  };

  it("reaches a game node's media port, and hears from it", async () => {
    expect(await client.bindChannel(node, firstPort)).to.equal("bound");
    client.sendOnChannel("hello");
    await eventually(() => client.received.some((data) => data.toString() === "re: hello"), {
      what: "the response",
    });
  });

  it("reaches no other port of a game node", async () => {
    expect(await client.permit(node)).to.equal("permitted"); // Permissions are for addresses.
    const before = await relay.metric("joypod_turn_packets_refused_total");
    client.send(node, lastPort + 1, "to another port");
    expect(await client.bindChannel(node, lastPort + 1)).to.equal("bound");
    client.sendOnChannel("by a channel");
    await afterwards();
    expect(other.received).to.deep.equal([]);
    expect(await relay.metric("joypod_turn_packets_refused_total")).to.equal(before + 2);
  });

  it("hears from no other port of a game node", async () => {
    await afterwards();
    const relayed = media.last ?? expect.fail("the media port heard nothing.");
    other.socket.send("from another port", relayed.port, relayed.address);
    media.socket.send("from the media port", relayed.port, relayed.address);
    await eventually(() => client.received.some((data) => data.includes("from the media port")), {
      what: "the packet of the media port",
    });
    expect(client.received.filter((data) => data.includes("from another port"))).to.deep.equal([]);
  });

  it("reaches no address that is no game node's, nor the relay's own, loopback or link-local ones", async () => {
    await relay.tell(["198.51.100.7", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1"]); // Not even where it is told to.
    const before = media.received.length;
    for (const address of [
      node,
      network.relay.ipv4,
      "127.0.0.1",
      "169.254.169.254",
      "10.96.0.1",
      "203.0.113.10",
      "0.0.0.0",
      "224.0.0.1",
    ]) {
      expect(await client.permit(address), address).to.equal(forbidden);
      expect(await client.bindChannel(address, firstPort), address).to.be.oneOf([unauthorized, forbidden]);
    }
    client.send(node, firstPort, "without permission");
    await relay.tell([node]);
    await afterwards();
    expect(media.received.slice(before).filter((text) => text === "without permission")).to.deep.equal([]);
  });

  it("reaches a node that is none any more by no permission of before", async () => {
    await afterwards();
    await relay.tell([]);
    const before = media.received.length;
    const refused = await relay.metric("joypod_turn_packets_refused_total");
    client.send(node, firstPort, "too late");
    await eventually(async () => (await relay.metric("joypod_turn_packets_refused_total")) > refused);
    await relay.tell([node]);
    await afterwards();
    expect(media.received.slice(before)).to.not.include("too late");
  });

  it("gets no connection by TCP", async () => {
    const tcp = await connect();
    expect(await tcp.allocate("tcp")).to.equal(insufficientCapacity);
    let accepted = 0;
    const server = createServer(() => accepted++).listen(firstPort, node);
    await once(server, "listening");
    try {
      expect(await client.permit(node)).to.equal("permitted");
      expect(await client.connect(node, firstPort)).to.equal(connectionFailed);
      expect(accepted).to.equal(0);
    } finally {
      server.close();
    }
  });

  it("is refused with a forged, an expired or no login", async () => {
    for (const login of [
      relay.expiredLogin(),
      relay.login("player", new Date(), "another secret of this length"),
      { username: "player", credential: "x" },
    ]) {
      expect(await (await connect(login)).allocate()).to.be.oneOf([unauthorized, 400]);
    }
  });

  it("keeps what it has when its login ends", async () => {
    const login = relay.loginThatEndsIn(6, "ending");
    const playing = await connect(login);
    expect(await playing.allocate()).to.equal("allocated");
    await eventually(async () => (await (await connect(login)).allocate()) === unauthorized, {
      timeoutMs: 20_000,
      what: "the end of the login",
    });
    expect(await playing.refresh()).to.equal("kept");
  });

  it("gets a bounded number of relayed addresses, and another player still gets one", async () => {
    const results: (number | "allocated")[] = [];
    for (let count = 0; count < 17; count++)
      results.push(await (await connect(relay.login("greedy"))).allocate());
    expect(results).to.deep.equal([...Array<string>(16).fill("allocated"), quotaReached]);
    expect(await (await connect(relay.login("modest"))).allocate()).to.equal("allocated");
  });

  it("gets a bounded number of channels, and keeps those that it has", async () => {
    const channels = 256;
    const greedy = await connect(relay.login("greedy with channels"));
    await greedy.allocate();
    for (let count = 0; count < channels; count++)
      expect(await greedy.bindChannel(node, firstPort + count, 0x4001 + count)).to.equal("bound");
    expect(await greedy.bindChannel(node, firstPort + channels, 0x4001 + channels)).to.equal(unauthorized);
    greedy.sendOnChannel("still heard");
    await eventually(() => media.received.includes("still heard"), { what: "what is sent on a channel" });
    expect(await client.bindChannel(node, firstPort)).to.equal("bound");
  });

  it("cannot tell the relay of game nodes: only who has the secret can, a moment ago", async () => {
    expect(await relay.tell([network.client.ipv4], { secret: "guessed" })).to.equal(401);
    expect(await relay.tell([network.client.ipv4], { at: new Date(Date.now() - 3_600_000) })).to.equal(401);
    expect(await client.permit(network.client.ipv4)).to.equal(forbidden);
  });
});

describe("the operator and a relay", function () {
  this.timeout(30_000);
  let network: TestNetwork;
  let relay: TurnRelay;
  let certificate: KeyPair;
  const made = new AsyncDisposableStack();
  let told: { told: number; untold: number }[];

  before(async () => {
    network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    certificate = await (await CertificateAuthority.create()).server("relay", ["DNS:relay"]);
    relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009", certificate }),
      (started) => started.stop(),
    );
    told = [];
  });
  after(() => made.disposeAsync());

  const tell = (cluster: Cluster, secret = relay.secret): Promise<void> =>
    tellRelays(
      {
        cluster,
        clock: systemClock,
        announceAddresses: [],
        relay: { host: relay.address, port: relayPorts.control, secret },
        metrics: { relaysTold: (counts) => told.push(counts) },
      },
      new AbortController().signal,
    );

  it("agree on the addresses of game nodes, and of no other nodes", async () => {
    const cluster = createCluster();
    cluster.nodes.upsert(
      aNode("game-node", {
        addresses: [
          { type: "InternalIP", address: "10.0.0.7" },
          { type: "InternalIP", address: "fd00::7" },
          { type: "ExternalIP", address: "203.0.113.7" },
        ],
      }),
    );
    cluster.gameNodes.upsert(aGameNode("game-node"));
    cluster.nodes.upsert(aNode("other-node", { addresses: [{ type: "InternalIP", address: "10.0.0.8" }] }));
    await tell(cluster);
    expect(await relay.metric("joypod_turn_node_addresses")).to.equal(3);
    const client = await TurnClient.open({ address: relay.address, port: relayPorts.plain }, relay.login());
    try {
      await client.allocate();
      expect([
        await client.permit("10.0.0.7"),
        await client.permit("203.0.113.7"),
        await client.permit("10.0.0.8"),
      ]).to.deep.equal(["permitted", "permitted", forbidden]);
      cluster.gameNodes.upsert(aGameNode("other-node"));
      await tell(cluster);
      expect(await client.permit("10.0.0.8")).to.equal("permitted");
    } finally {
      await client.close();
    }
  });

  it("say when one was not told", async () => {
    const error: unknown = await tell(createCluster(), "another secret of this length").then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error)
      .to.be.instanceOf(AggregateError)
      .with.property("message", "1 of 1 relays could not be updated with the game nodes.");
  });

  it("count the relays that were told, and those that were not", async () => {
    told = [];
    await tell(createCluster());
    await tell(createCluster(), "another secret of this length").catch(() => undefined);
    expect(told).to.deep.equal([
      { told: 1, untold: 0 },
      { told: 0, untold: 1 },
    ]);
  });

  it("show when the certificate ends, beside all that docs/metrics.md says of the relay", async () => {
    expectDocumented(await relay.metrics(), ["Relay"]);
    const { validToDate } = new X509Certificate(readFileSync(certificate.certificateFile));
    expect(await relay.metric("joypod_turn_certificate_expiry_timestamp_seconds")).to.equal(
      validToDate.getTime() / 1_000,
    );
  });

  it("write lines of the same form", async () => {
    await tell(createCluster(), "another secret of this length").catch(() => undefined);
    const lines = relay.logLines().map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const line of lines) {
      expect(line).to.include({ program: "turn" }).and.to.have.property("msg");
      expect(line.time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    expect(lines.map(({ level }) => level)).to.include.members(["info", "warn"]);
  });
});

describe("a relay whose secret came from a file with a line end", function () {
  this.timeout(30_000);
  it("believes what is signed with the secret alone", async () => {
    const network = await TestNetwork.create();
    const secret = randomBytes(32).toString("base64");
    const relay = await TurnRelay.start({
      host: network.relay,
      peerPorts: "20000-20009",
      env: { TURN_SECRET: `${secret}\n` },
    });
    try {
      expect(await relay.tell([network.own.ipv4], { secret })).to.equal(204);
    } finally {
      await relay.stop();
      await network.remove();
    }
  });
});

describe("a relay that has not been told of game nodes", function () {
  this.timeout(30_000);
  it("is not ready, and reaches nothing", async () => {
    const network = await TestNetwork.create();
    const relay = await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009" });
    const client = await TurnClient.open({ address: relay.address, port: relayPorts.plain }, relay.login());
    try {
      expect(await relay.isReady()).to.equal(false);
      expect(await client.allocate()).to.equal("allocated");
      expect(await client.permit(network.own.ipv4)).to.equal(forbidden);
      await relay.tell([]);
      expect(await relay.isReady()).to.equal(true);
    } finally {
      await client.close();
      await relay.stop();
      await network.remove();
    }
  });
});
