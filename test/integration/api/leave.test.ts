import { expect } from "chai";
import type { LeaveResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { sweepIdle } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import { aUser } from "#test/factories/catalog.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { asIfSwept } from "#test/support/fixtures/idleSweeps.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";

const podIp = loopbackIp();
const { idleTimeoutSeconds, leaveGraceSeconds } = limits.gameSession;

describe("POST /api/game/leave", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let streamer: FakeStreamer;
  let sessionId: string;

  before(async () => {
    fixture = await LaunchFixture.start();
    streamer = await FakeStreamer.at(podIp);
  });
  beforeEach(async () => {
    streamer.reset();
    await fixture.newPlayer();
    sessionId = await fixture.launched();
    await fixture.operator.makeReady(sessionId, { podIp });
    await eventually(async () => (await fixture.rowOf(sessionId)).status === "running");
  });
  after(async () => {
    streamer.stop();
    await fixture.stop();
  });

  async function connect(connection: string, headers: Record<string, string> = {}): Promise<void> {
    streamer.response = {
      ...streamer.response,
      headers: { "content-type": "application/sdp", location: `/whep/${connection}` },
    };
    const client = "authorization" in headers ? fixture.api.anonymous() : fixture.player;
    const response = await client.post(`/api/stream/${sessionId}`, "v=0 offer", {
      "content-type": "application/sdp",
      ...headers,
    });
    expect(response.status, response.text).to.equal(201);
  }

  async function leave(connection: string): Promise<LeaveResponse> {
    const response = await fixture.player.post("/api/game/leave", { sessionId, connection });
    expect(response.status, response.text).to.equal(200);
    return response.json<LeaveResponse>();
  }

  /** Expects that the session is stopped as idle about this many seconds from now. */
  async function expectExpiry(seconds: number): Promise<void> {
    const { expiresAt } = await fixture.rowOf(sessionId);
    expect((expiresAt!.getTime() - Date.now()) / 1000).to.be.closeTo(seconds, 15);
  }

  it("leaves two minutes to return, and does not touch the object", async () => {
    await connect("first");
    const { spec } = await fixture.operator.session(sessionId);
    const { status, expiresAt } = await leave("first");
    expect(status).to.equal("left");
    expect(expiresAt).to.equal((await fixture.rowOf(sessionId)).expiresAt?.toISOString());
    await expectExpiry(leaveGraceSeconds);
    expect((await fixture.operator.session(sessionId)).spec).to.deep.equal(spec);
  });

  it("ends the session if nobody returns", async () => {
    await connect("first");
    await leave("first");
    await fixture.api.deps.postgres.prisma.gameSession.update({
      where: { id: sessionId },
      data: { expiresAt: new Date(Date.now() - 1) },
    });
    await eventually(async () => {
      await sweepIdle(fixture.api.deps);
      return (await fixture.rowOf(sessionId)).status === "stopping";
    });
    expect(await fixture.rowOf(sessionId)).to.include({ stopReason: "IdleTimeout" });
    expect(await leave("first")).to.deep.equal({ status: "ignored" });
  });

  it("is undone by a keepalive", async () => {
    await connect("first");
    await leave("first");
    await fixture.player.post("/api/game/keepalive", { sessionId });
    await expectExpiry(idleTimeoutSeconds);
  });

  it("is undone by another connection, as after a reload", async () => {
    await connect("first");
    await leave("first");
    await connect("second");
    await expectExpiry(idleTimeoutSeconds);
  });

  it("is ignored for an old tab, and when it arrives after the new page's connection", async () => {
    await connect("first");
    await connect("second");
    expect(await leave("first")).to.deep.equal({ status: "ignored" });
    await expectExpiry(idleTimeoutSeconds);
  });

  it("does not mistake somebody who only watches for the player", async () => {
    await connect("player");
    const { ticket } = (
      await fixture.player.post("/api/game/stream-ticket", { sessionId, role: "watch" })
    ).json<{ ticket: string }>();
    await connect("watcher", { authorization: `Bearer ${ticket}` });
    expect(await leave("watcher")).to.deep.equal({ status: "ignored" });
    expect(await leave("player")).to.include({ status: "left" });
  });

  describe("of a session that starts", () => {
    beforeEach(async () => {
      await fixture.newPlayer();
      sessionId = await fixture.launched();
    });

    async function runs(): Promise<void> {
      await fixture.operator.makeReady(sessionId, { podIp });
      await eventually(async () => (await fixture.rowOf(sessionId)).status === "running");
    }

    it("leaves two minutes to return, which the start of the game does not extend", async () => {
      expect(await leave("none")).to.include({ status: "left" });
      await expectExpiry(leaveGraceSeconds);
      await runs();
      await expectExpiry(leaveGraceSeconds);
      await connect("first");
      await expectExpiry(idleTimeoutSeconds);
    });

    it("is undone by a keepalive, as after a reload", async () => {
      await leave("none");
      await fixture.player.post("/api/game/keepalive", { sessionId });
      await runs();
      await expectExpiry(idleTimeoutSeconds);
    });

    it("cancels the launch if nobody returns", async () => {
      await leave("none");
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id: sessionId },
        data: { expiresAt: new Date(Date.now() - 1) },
      });
      await eventually(async () => {
        await sweepIdle(fixture.api.deps);
        return (await fixture.rowOf(sessionId)).status === "stopping";
      });
      await fixture.operator.finish(sessionId, { stopReason: "UserRequested" });
      await fixture.ended(sessionId);
      const status = await fixture.player.get(`/api/game/session-status?sessionId=${sessionId}`);
      expect(status.json()).to.include({
        endReason: "user_requested",
        message: "The launch was cancelled. Your saves are unchanged.",
      });
    });

    it("is not taken for idle by other clients, which send no keepalives while it starts", async () => {
      await fixture.player.post("/api/game/keepalive", { sessionId });
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id: sessionId },
        data: { expiresAt: new Date(Date.now() - 1) },
      });
      await asIfSwept(fixture.api.deps);
      expect(await sweepIdle(fixture.api.deps)).to.not.include(sessionId);
    });

    it("is ignored for a page without a connection once another page has one", async () => {
      await runs();
      await connect("first");
      expect(await leave("none")).to.deep.equal({ status: "ignored" });
    });
  });

  it("requires the player's own session", async () => {
    const body = { sessionId, connection: "first" };
    await connect("first");
    expectErrorResponse(await fixture.api.anonymous().post("/api/game/leave", body), 401, "unauthorized");
    expectErrorResponse(
      await fixture.api.as(await aUser(fixture.api.deps)).post("/api/game/leave", body),
      404,
      "not_found",
    );
    expectErrorResponse(
      await fixture.player.post("/api/game/leave", { ...body, connection: "a/b" }),
      400,
      "invalid_request",
    );
    await expectExpiry(idleTimeoutSeconds);
  });
});
