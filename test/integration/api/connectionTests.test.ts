import { randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { expect } from "chai";
import { connectionTest } from "#contracts/connectionTest.ts";
import { limits } from "#contracts/limits.ts";
import {
  bearerTicket,
  readTicket,
  ticketPublicKeyOf,
  ticketSigningKey,
  ticketVerifyingKey,
} from "#contracts/streamTicket.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";

const path = "/api/stream/connection-tests";
const sdp = { "content-type": "application/sdp" };
const seed = randomBytes(32);
const key = ticketVerifyingKey(ticketPublicKeyOf(ticketSigningKey(seed)));
const sdpAnswer = {
  sdp: "v=0\r\na=candidate:9 1 UDP 1 10.0.0.9 1 typ host\r\n",
  nodeName: "elsewhere",
  addresses: ["192.0.2.1", "2001:db8::1"],
  udpPort: 19_999,
};

/** What stands for the responders at one address. */
class FakeResponder {
  readonly #server: Server;
  seen: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
  response: { status: number; body: unknown } = { status: 201, body: sdpAnswer };

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.seen.push({
          url: request.url,
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        });
        response
          .writeHead(this.response.status, { "content-type": "application/json" })
          .end(JSON.stringify(this.response.body));
      });
    });
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#server.once("error", reject).listen(port, "127.0.0.1", resolve),
    );
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe(`POST ${path}`, function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let port: number;
  let responder: FakeResponder;
  let user: TestUser;

  before(async () => {
    port = await freePort();
    // A name, as the service's: it stands for the machine's addresses of both families, of which only one
    // answers.
    api = await TestApi.start({
      kube: true,
      env: {
        CONNECTION_TEST_URL: `http://localhost:${port}`,
        CONNECTION_TEST_SIGNING_KEY: seed.toString("base64"),
      },
    });
    operator = operatorOf(api);
  });
  beforeEach(async () => {
    responder = new FakeResponder();
    await responder.listen(port);
    user = await aUser(api.deps);
  });
  afterEach(() => responder.stop());
  after(async () => {
    await operator.removeNodes();
    await api.stop();
  });

  const post = (body = "v=0 offer", headers: Record<string, string> = sdp): Promise<ApiResponse> =>
    api.as(user).post(path, body, headers);

  it("forwards the offer with the player's ticket, and returns the answer with the node's addresses", async () => {
    const response = await post();
    expect(response.status, response.text).to.equal(201);
    expect(response.headers.get("content-type")).to.match(/^application\/sdp/);
    expect(response.text.split("\r\n")).to.deep.equal([
      "v=0",
      "a=candidate:1 1 UDP 2130706431 192.0.2.1 19999 typ host",
      "a=candidate:2 1 UDP 2130706175 2001:db8::1 19999 typ host",
      "a=end-of-candidates",
      "",
    ]);
    expect(responder.seen).to.have.length(1);
    const [seen] = responder.seen;
    expect(seen).to.include({ url: connectionTest.path, body: "v=0 offer" });
    expect(seen?.headers).to.not.have.any.keys("cookie");
    const claims = readTicket(bearerTicket(seen?.headers.authorization) ?? "", key, new Date());
    expect(claims).to.include({ aud: connectionTest.audience, sub: user.id });
  });

  it("returns the addresses that sessions on the node announce", async () => {
    const announced = ["203.0.113.5", "2001:db8::5", "10.1.1.1"];
    const nodeName = await operator.addNode(1, { addresses: { internal: "10.1.1.1", announced } });
    await eventually(() => api.deps.cluster.gameNode(nodeName)?.status?.addresses?.announced !== undefined, {
      what: "the node's addresses to be known",
    });
    responder.response.body = { ...sdpAnswer, nodeName, addresses: ["192.0.2.1"] };
    const { text } = await post();
    expect(text.match(/UDP \d+ (\S+) 19999/g)?.map((part) => part.split(" ")[2])).to.deep.equal(announced);
  });

  it("admits signed-in players on pages of the service only", async () => {
    expectErrorResponse(await api.anonymous().post(path, "v=0 offer", sdp), 401, "unauthorized");
    expectErrorResponse(
      await post("v=0 offer", { ...sdp, origin: "https://elsewhere.test" }),
      403,
      "forbidden",
    );
    expect(responder.seen).to.be.empty;
  });

  it("rejects invalid offers", async () => {
    expectErrorResponse(
      await post("{}", { "content-type": "application/json" }),
      415,
      "unsupported_media_type",
    );
    expectErrorResponse(await post("v".repeat(70_000)), 413, "payload_too_large");
    expect(responder.seen).to.be.empty;
    responder.response = {
      status: 400,
      body: { error: "invalid_offer", message: "The offer has no fingerprint." },
    };
    const response = await post();
    expectErrorResponse(response, 400, "invalid_offer");
    expect(response.json()).to.include({ message: "The offer has no fingerprint." });
  });

  it("reports that all responders are busy", async () => {
    responder.response = { status: 503, body: { error: "not_ready", message: "busy" } };
    const response = await post();
    expectErrorResponse(response, 503, "no_servers");
    expect(response.headers.get("retry-after")).to.equal("10");
  });

  it("reports that no responder answers", async () => {
    const sentence = "No game server can test the connection right now. Try again in a moment.";
    for (const response of [
      { status: 500, body: {} },
      { status: 201, body: { sdp: "v=0" } },
      { status: 401, body: { error: "unauthorized", message: "" } },
    ]) {
      responder.response = response;
      const refused = await post();
      expectErrorResponse(refused, 503, "unavailable");
      expect(refused.json()).to.include({ message: sentence });
    }
    responder.stop();
    expect((await post()).json()).to.include({ error: "unavailable", message: sentence });
  });

  it("reports that the installation has no connection test", async () => {
    const without = await TestApi.start({ database: api.database });
    const response = await api.as(user, without).post(path, "v=0 offer", sdp);
    expectErrorResponse(response, 503, "unavailable");
    expect(response.json()).to.include({ message: "Connection tests are not available here." });
    await without.stop();
  });

  it("limits the tests per player", async () => {
    const { statuses } = await sendTraffic(limits.connectionTest.perMinute + 1, () => post());
    expect(statuses).to.deep.equal({ 201: limits.connectionTest.perMinute, 429: 1 });
  });
});
