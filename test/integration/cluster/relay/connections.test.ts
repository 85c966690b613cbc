import { expect } from "chai";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { eventually } from "#test/support/clocks/eventually.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { TestNetwork } from "#test/support/network/namespaces.ts";
import { decodeTurn, encodeTurn, methods } from "#test/support/network/turnMessage.ts";
import { relayPorts, TurnRelay } from "#test/support/network/turnRelay.ts";

const run = promisify(execFile);

describe("a relay whose connections are few", function () {
  this.timeout(30_000);
  let network: TestNetwork;
  let relay: TurnRelay;
  const connectionsMax = 4;
  const made = new AsyncDisposableStack();

  before(async () => {
    network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    const certificate = await (
      await CertificateAuthority.create()
    ).server("relay", [`IP:${network.relay.ipv4}`]);
    const env = { CONNECTIONS_MAX: String(connectionsMax), UNALLOCATED_SECONDS: "2" };
    relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009", certificate, env }),
      (started) => started.stop(),
    );
  });
  after(() => made.disposeAsync());

  /**
   * Opens a connection, sends these bytes, and resolves with the first that come back, or with none at its
   * end.
   */
  async function exchange(port: number, bytes: Buffer | string): Promise<Buffer> {
    const socket = connect(port, relay.address).on("error", () => undefined);
    socket.setTimeout(2_000, () => socket.destroy());
    socket.write(bytes);
    const [first] = (await Promise.race([
      once(socket, "data"),
      once(socket, "close").then(() => [Buffer.alloc(0)]),
    ])) as [Buffer];
    socket.destroy();
    return first;
  }

  const hasRoom = (): Promise<unknown> =>
    eventually(
      async () => {
        const { packet, transaction } = encodeTurn(methods.binding, []);
        return decodeTurn(await exchange(relayPorts.plain, packet))?.transaction === transaction;
      },
      { timeoutMs: 10_000, what: "a place for a client of TCP" },
    );

  it("ends those that say something and get no relayed address, and has room again", async () => {
    const idle = await Promise.all(
      Array.from({ length: connectionsMax }, async () => {
        const socket = connect(relayPorts.plain, relay.address).on("error", () => undefined);
        await once(socket, "connect");
        socket.write(Buffer.from([0]));
        return socket;
      }),
    );
    await hasRoom();
    await eventually(() => idle.every((socket) => socket.closed), { what: "the ends of those connections" });
  });

  it("takes a frame that comes byte by byte", async () => {
    const { packet, transaction } = encodeTurn(methods.binding, []);
    const socket = connect(relayPorts.plain, relay.address).setNoDelay();
    try {
      for (const byte of packet) await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
      const [response] = (await once(socket, "data")) as [Buffer];
      expect(decodeTurn(response)?.transaction).to.equal(transaction);
    } finally {
      socket.destroy();
    }
  });

  it("has room again after handshakes of TLS that fail", async () => {
    for (const bytes of ["GET / HTTP/1.1\r\n\r\n", randomBytes(64)]) {
      for (let count = 0; count < connectionsMax; count++) await exchange(relayPorts.tls, bytes);
    }
    for (let count = 0; count < connectionsMax; count++) {
      const socket = connect(relayPorts.tls, relay.address);
      await once(socket, "connect");
      socket.destroy();
    }
    await hasRoom();
  });
});

describe("a relay that has all the connections that it may have", function () {
  this.timeout(30_000);
  const made = new AsyncDisposableStack();
  after(() => made.disposeAsync());

  it("ends one more at once, and counts it", async () => {
    const network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    const env = { CONNECTIONS_MAX: "1", UNALLOCATED_SECONDS: "600" };
    const relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009", env }),
      (started) => started.stop(),
    );
    const open = (): Socket =>
      made.adopt(
        connect(relayPorts.plain, relay.address).on("error", () => undefined),
        (opened) => void opened.destroy(),
      );
    const taken = open();
    taken.write(encodeTurn(methods.binding, []).packet);
    await once(taken, "data");
    expect(await relay.metric("joypod_turn_allocations_refused_total")).to.equal(0);
    const refused = open().resume();
    await eventually(() => refused.closed, { what: "the end of the second connection" });
    expect(await relay.metric("joypod_turn_allocations_refused_total")).to.equal(1);
    expect(taken.closed).to.equal(false);
  });
});

describe("a relay that gives clients long to allocate", function () {
  this.timeout(30_000);
  let relay: TurnRelay;
  let ca: Buffer;
  const made = new AsyncDisposableStack();
  /** As much as one record of TLS may have in it. */
  const recordMax = 16_384;

  before(async () => {
    const network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    const authority = await CertificateAuthority.create();
    ca = readFileSync(authority.certificateFile);
    const certificate = await authority.server("relay", [`IP:${network.relay.ipv4}`]);
    const env = { UNALLOCATED_SECONDS: "600" };
    relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009", certificate, env }),
      (started) => started.stop(),
    );
  });
  after(() => made.disposeAsync());

  it("ends the connection at once of one that announces a frame larger than there are", async () => {
    const socket = connect(relayPorts.plain, relay.address).on("error", () => undefined);
    try {
      const { packet } = encodeTurn(methods.binding, []);
      packet.writeUInt16BE(0xfffc, 2);
      socket.resume().write(packet);
      await eventually(() => socket.closed, { what: "the end of the connection" });
    } finally {
      socket.destroy();
    }
  });

  it("ends the connection of a client of TLS whose message of the handshake is larger than clients need", async () => {
    const socket = connect(relayPorts.tls, relay.address).on("error", () => undefined);
    try {
      // A ClientHello that says that it has 60,000 bytes, of which a part comes, in whole records.
      const message = Buffer.alloc(3 * recordMax);
      message.writeUInt32BE(0x0100_0000 + 60_000);
      for (let at = 0; at < message.length; at += recordMax) {
        socket.write(
          Buffer.concat([
            Buffer.from([22, 3, 1, recordMax >> 8, recordMax & 0xff]),
            message.subarray(at, at + recordMax),
          ]),
        );
      }
      socket.resume();
      // After ten seconds it would end in any case, because the handshake takes too long.
      await eventually(() => socket.closed, { timeoutMs: 5_000, what: "the end of the connection" });
    } finally {
      socket.destroy();
    }
  });

  it("responds to a client of TLS that sends much, in records as large as there are", async () => {
    const received: Buffer[] = [];
    const socket = connectTls({ host: relay.address, port: relayPorts.tls, ca }).on("error", () => undefined);
    socket.on("data", (data: Buffer) => void received.push(data));
    try {
      await once(socket, "secureConnect");
      const requests = Array.from({ length: 5_000 }, () => encodeTurn(methods.binding, []));
      socket.write(Buffer.concat(requests.map(({ packet }) => packet)));
      const last = Buffer.from(requests.at(-1)!.transaction, "hex");
      await eventually(() => Buffer.concat(received).includes(last), {
        what: "the response to the last request",
      });
    } finally {
      socket.destroy();
    }
  });
});

describe("a relay whose client takes nothing any more", function () {
  this.timeout(60_000);
  const made = new AsyncDisposableStack();
  after(() => made.disposeAsync());

  it("ends the connection, on which a part of a frame was sent, though the client goes on sending", async () => {
    const network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    const env = { STALLED_SECONDS: "1", UNALLOCATED_SECONDS: "600" };
    const relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009", env }),
      (started) => started.stop(),
    );
    const socket = made.adopt(
      connect(relayPorts.plain, relay.address).on("error", () => undefined),
      (opened) => void opened.destroy(),
    );
    await once(socket, "connect");
    socket.pause();
    // The responses to these are more than the system keeps on their way.
    const requests = Buffer.concat(
      Array.from({ length: 10_000 }, () => encodeTurn(methods.binding, []).packet),
    );
    const sendOn = (): void =>
      void socket.write(requests, (error) => {
        if (!error) sendOn();
      });
    sendOn();
    await eventually(() => socket.closed, { timeoutMs: 20_000, what: "the end of the connection" });
  });
});

describe("a relay whose socket for UDP fails", function () {
  this.timeout(30_000);
  const made = new AsyncDisposableStack();
  after(() => made.disposeAsync());

  it("ends and says why, so that it is started again", async () => {
    const network = made.adopt(await TestNetwork.create(), (opened) => opened.remove());
    const relay = made.adopt(
      await TurnRelay.start({ host: network.relay, peerPorts: "20000-20009" }),
      (started) => started.stop(),
    );
    // The kernel ends the socket with an error, as an admin may have it do.
    await run("ip", [
      "netns",
      "exec",
      network.relay.namespace,
      "ss",
      "--kill",
      "--udp",
      "--all",
      "sport",
      "=",
      `:${relayPorts.plain}`,
    ]);
    await eventually(() => relay.hasEnded, { what: "the relay's end" });
    expect(relay.logLines().at(-1)).to.contain("The relay failed.").and.contain("reading UDP");
  });
});
