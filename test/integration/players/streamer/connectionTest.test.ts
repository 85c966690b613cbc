import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect } from "chai";
import { connectionTest, TestSdpAnswer } from "#contracts/connectionTest.ts";
import { signTicket, ticketSigningKey, type TicketClaims } from "#contracts/streamTicket.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { bearing } from "#test/support/session/tickets.ts";
import { TestPage } from "#test/support/session/testPage.ts";
import { TestResponder } from "#test/support/session/testResponder.ts";

const maxTests = 2;
const maxKbps = 2_000;
const offerLike = "v=0\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\na=fingerprint:sha-256 AA\r\n";

describe("a game node's responder of connection tests", function () {
  this.timeout(30_000);
  let responder: TestResponder;
  const pages: TestPage[] = [];

  before(async () => {
    responder = await TestResponder.start({
      env: { MAX_TESTS: String(maxTests), MAX_KBPS: String(maxKbps) },
    });
  });
  after(() => responder.stop());
  afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

  async function aPage(): Promise<TestPage> {
    const page = await TestPage.open();
    pages.push(page);
    return page;
  }

  function ticket(claims: Partial<TicketClaims> = {}, key = responder.signingKey): string {
    const iat = Math.floor(Date.now() / 1_000);
    return signTicket(
      { aud: connectionTest.audience, sub: "player", role: "play", iat, exp: iat + 60, ...claims },
      key,
    );
  }

  const post = (body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(responder.url + connectionTest.path, { method: "POST", body, headers });

  async function connect(player: string): Promise<TestPage> {
    const page = await aPage();
    const response = await post(page.offer, bearing(ticket({ sub: player })));
    expect(response.status).to.equal(201);
    await page.take(TestSdpAnswer.parse(await response.json()));
    return page;
  }

  /** Returns the rate in kbit/s at which the page receives the large packets. */
  async function bandwidthOf(page: TestPage): Promise<number> {
    page.packets = [];
    const ends = page.ends().length;
    const startedAt = performance.now();
    page.send({ t: "send", burst: "bandwidth" });
    await eventually(() => page.ends().length === ends + 1, { what: "the end of the large packets" });
    expect(performance.now() - startedAt).to.be.at.least(0.95 * connectionTest.bandwidthMs);
    return (page.packets.reduce((sum, bytes) => sum + bytes, 0) * 8) / connectionTest.bandwidthMs;
  }

  it("accepts offers only from the API", async () => {
    const { offer } = await aPage();
    const iat = Math.floor(Date.now() / 1_000) - 7_200;
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await post(offer, headers)).status;
    expect(await statusOf({})).to.equal(401);
    expect(await statusOf({ authorization: "Bearer a.b.c" })).to.equal(401);
    expect(await statusOf(bearing(ticket({}, ticketSigningKey(randomBytes(32))))), "another key").to.equal(
      401,
    );
    expect(await statusOf(bearing(ticket({ iat, exp: iat + 60 }))), "expired").to.equal(401);
    expect(await statusOf(bearing(ticket({ aud: "gs-1" }))), "a session's").to.equal(403);
    expect((await fetch(`${responder.url}${connectionTest.path}`)).status).to.equal(405);
    for (const path of ["/status", "//"])
      expect((await fetch(responder.url + path)).status, path).to.equal(404);
  });

  it("answers without candidates and reports its node's addresses", async () => {
    const response = await post((await aPage()).offer, bearing(ticket()));
    const sdpAnswer = TestSdpAnswer.parse(await response.json());
    expect(sdpAnswer).to.include({ nodeName: "node1" });
    expect(sdpAnswer.addresses).to.deep.equal(["127.0.0.1"]);
    expect(sdpAnswer.sdp)
      .to.match(/^v=0/)
      .and.not.contain("a=candidate")
      .and.not.contain("a=end-of-candidates");
  });

  for (const [what, body, reason] of [
    ["a text that is none", "hello", "The body is not a session description."],
    ["one without a fingerprint", "v=0\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\n", "The offer has no fingerprint."],
    [
      "one for pictures",
      `${offerLike}m=video 9 UDP/TLS/RTP/SAVPF 96\r\n`,
      "The offer must contain data channels only.",
    ],
    [
      "one of two connections",
      `${offerLike}m=application 9\r\nm=application 9\r\n`,
      "The offer must contain data channels only.",
    ],
    [
      "one that the transport cannot read",
      `${offerLike}m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n`,
      "The offer cannot be answered: ",
    ],
  ] as const) {
    it(`rejects an offer: ${what}`, async () => {
      const response = await post(body, bearing(ticket({ sub: "stranger" })));
      expect(response.status).to.equal(400);
      const { error, message } = (await response.json()) as { error: string; message: string };
      expect(error).to.equal("invalid_offer");
      expect(message).to.contain(reason);
    });
  }

  it("sends nothing to an address that an offer names", async () => {
    const bystander = createSocket("udp4").bind(0, "127.0.0.1");
    await once(bystander, "listening");
    const received: Buffer[] = [];
    bystander.on("message", (packet) => received.push(packet));
    try {
      const { offer } = await aPage();
      const named = `a=candidate:1 1 UDP 2122317823 127.0.0.1 ${bystander.address().port} typ host\r\n`;
      const response = await post(
        offer.replaceAll(/a=candidate:.*\r\n/g, "").replace("a=end-of-candidates\r\n", "") + named,
        bearing(ticket({ sub: "hostile" })),
      );
      expect(response.status).to.equal(201);
      await connect("player"); // By then a packet would have arrived.
      expect(received).to.deep.equal([]);
      await connect("hostile"); // Ends the test whose page never connected.
    } finally {
      bystander.close();
    }
  });

  it("rejects an offer that is too long without reading it", async () => {
    expect((await post("v".repeat(70_000), bearing(ticket()))).status).to.equal(413);
  });

  it("returns pings, and sends each burst once, within the maximum rate", async () => {
    const page = await connect("player");
    page.send({ t: "ping", n: 7 });
    await eventually(() => page.notices.some((notice) => notice.t === "ping" && notice.n === 7), {
      what: "the ping",
    });
    for (const junk of ["{", "null", JSON.stringify({ t: "send", burst: "all" }), "x".repeat(1_000)])
      page.send(junk);
    page.send({ t: "send", burst: "loss" });
    page.send({ t: "send", burst: "loss" });
    await eventually(() => page.ends().length === 1, { what: "the end of the small packets" });
    await eventually(() => page.packets.length === page.ends()[0]?.packets, { what: "all of them" });
    expect(page.packets.length).to.be.at.most(connectionTest.lossPackets);
    expect(page.packets.every((bytes) => bytes === connectionTest.smallPacketBytes)).to.equal(true);
    const last = page;
    expect(await bandwidthOf(last))
      .to.be.above(0)
      .and.at.most(1.02 * maxKbps);
    expect(last.ends().every(({ limitKbps }) => limitKbps === maxKbps)).to.equal(true);
    const [endsBefore, packetsBefore] = [last.ends().length, last.packets.length];
    last.send({ t: "send", burst: "bandwidth" });
    last.send({ t: "ping", n: 8 });
    await eventually(() => last.notices.some((notice) => notice.t === "ping" && notice.n === 8), {
      what: "the ping",
    });
    expect(last.ends().length).to.equal(endsBefore);
    expect(last.packets.length, "no burst of a second request").to.equal(packetsBefore);
  });

  it("runs a bounded number of tests in parallel, one per player, on one UDP port, and ends each after its time", async () => {
    const [first, second] = [await connect("first"), await connect("second")];
    const startedAt = performance.now();
    const busy = await post((await aPage()).offer, bearing(ticket({ sub: "third" })));
    expect(busy.status).to.equal(503);
    expect(await busy.json()).to.include({ error: "not_ready" });
    const again = await connect("first");
    await eventually(() => first.isClosed, {
      timeoutMs: connectionTest.durationSeconds * 500,
      what: "the end of the player's earlier test, long before its time",
    });
    expect(second.isClosed).to.equal(false);
    await eventually(() => second.isClosed && again.isClosed, {
      timeoutMs: (connectionTest.durationSeconds + 2) * 1_000,
      what: "the end of both",
    });
    expect(performance.now() - startedAt).to.be.above((connectionTest.durationSeconds - 2) * 1_000);
    expect((await post((await aPage()).offer, bearing(ticket({ sub: "third" })))).status).to.equal(201);
  });
});
